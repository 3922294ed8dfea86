import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import type { CardeaOptions } from '../../../src/index.ts'
import { ADMIN, AS_ADMIN, send } from '../../support/request.ts'
import type { Scope } from '../../support/scope.ts'
import { type Server, startServer } from '../../support/server.ts'
import { mintClassic, nowSeconds } from '../document/session-server.ts'

/** A Cardea with the user `ada`. */
export async function openCardea(scope: Scope, options: CardeaOptions = {}): Promise<Server> {
  const server = await startServer(scope, options)
  const body = { name: 'ada', password: 'pw', roles: ['reader'], type: 'user' }
  await send(server.document, { as: AS_ADMIN, method: 'PUT', path: '/_users/org.couchdb.user:ada', body })
  return server
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
