/** Two or more servers in this process that are workers of one server: each has its own ports. */

import { type Log, SILENT_LOG } from '../../src/base/log.ts'
import type { Siblings } from '../../src/base/siblings.ts'
import { Router } from '../../src/cluster/router.ts'
import { toFlags } from '../../src/config/flags.ts'
import { openConfiguration } from '../../src/live-config/load.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { type Addresses, type App, createApp } from '../../src/wiring/app.ts'
import type { Scope } from './scope.ts'
import type { AnyOptions } from './server.ts'
import { type JoinedWorker, joinWorker } from './siblings.ts'

export interface SiblingServer extends JoinedWorker {
  readonly app: App
  readonly document: string
  readonly multiModel: string
  readonly addresses: Addresses
}

export interface SiblingOptions {
  readonly options?: AnyOptions
  readonly files?: readonly string[]
  readonly log?: Log
  readonly router?: Router
  /** What the servers are given instead of their siblings. */
  readonly wrap?: (siblings: Siblings) => Siblings
}

const OPTIONS: AnyOptions = {
  chttpd: { port: 0 },
  server: { endpoint: 'tcp://127.0.0.1:0' },
  chttpd_auth: { iterations: 1 },
  admins: { admin: 'adminpw' },
}

/** Starts `count` workers of one server, one after the other. */
export async function startSiblings(scope: Scope, count: number, given: SiblingOptions): Promise<SiblingServer[]> {
  const router = given.router ?? new Router(count)
  const servers: SiblingServer[] = []
  for (let index = 0; index < count; index += 1) servers.push(await startSibling(scope, router, given))
  return servers
}

async function startSibling(scope: Scope, router: Router, given: SiblingOptions): Promise<SiblingServer> {
  const worker = await joinWorker(router)
  const flags = {
    configs: given.files ?? [],
    flags: toFlags(merge(given.options ?? {})),
    problems: [],
  }
  const read = { pipes: new Map(), filled: new Set<string>() }
  const app = await createApp({
    load: () => openConfiguration({ table: OPTION_TABLE, flags, env: {}, cwd: process.cwd(), defaults: [], ...read }),
    log: given.log ?? SILENT_LOG,
    siblings: given.wrap?.(worker.siblings) ?? worker.siblings,
  })
  scope.after(() => app.close())
  const addresses = await app.listen()
  worker.member.setReady()
  const [document = ''] = addresses.document
  const [multiModel = ''] = addresses.multiModel
  return { ...worker, app, addresses, document, multiModel }
}

const merge = (given: AnyOptions): AnyOptions =>
  Object.fromEntries(
    [...new Set([...Object.keys(OPTIONS), ...Object.keys(given)])].map((section) => [
      section,
      { ...OPTIONS[section], ...given[section] },
    ]),
  )
