import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { type Cardea, type CardeaOptions, createTestCardea } from '../../../src/index.ts'
import { ADMIN, send } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { mintClassic, nowSeconds } from '../document/session-server.ts'

export interface LibraryServer {
  readonly cardea: Cardea
  readonly document: string
  readonly multiModel: string
}

/** A Cardea with the user `ada`. */
export async function openCardea(scope: Scope, options: CardeaOptions = {}): Promise<LibraryServer> {
  const cardea = await createTestCardea({ options })
  scope.after(() => cardea.close())
  const { document, multiModel } = await cardea.listen()
  const base = document[0] ?? ''
  await send(base, {
    method: 'PUT',
    path: '/_users/org.couchdb.user:ada',
    headers: { ...ADMIN, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'ada', password: 'pw', roles: ['reader'], type: 'user' }),
  })
  return { cardea, document: base, multiModel: multiModel[0] ?? '' }
}

export async function serve(scope: Scope, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  scope.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Express is written for CommonJS. */
export const express = createRequire(import.meta.url)('express')

/** A session cookie of `ada` that was last renewed so long ago. */
export async function makeCookie(document: string, ageSeconds: number): Promise<string> {
  const { body } = await send(document, { path: '/_users/org.couchdb.user:ada', headers: ADMIN })
  const key = { secret: 'cardea-test-cookie-secret', salt: JSON.parse(body).salt }
  return `AuthSession=${mintClassic('ada', nowSeconds() - ageSeconds, key)}`
}
