/** A server that sends messages, and what its users do there. */
import assert from 'node:assert/strict'
import { type MailServer, startMailServer, tokenOf } from './mail.ts'
import { AS_ADMIN, type Reply, send } from './request.ts'
import type { Scope } from './scope.ts'
import { type AnyOptions, type Server, startServer } from './server.ts'

export const API = '/_cardea/api'
export const ACCOUNT = '/_cardea/account'

export const toMailOptions = (mailServer: Pick<MailServer, 'url'>): AnyOptions => ({
  mail: { url: mailServer.url, from: 'Shop <no-reply@shop.example>', 'client-requests-per-hour': 0 },
  console: { 'public-url': 'https://db.example.com', name: 'Shop' },
  auth: { 'min-password-length': 4 },
})

interface Asked {
  readonly as?: string
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

export const errorOf = ({ status, body }: Reply) => [status, JSON.parse(body).error]

export async function startMailClient(
  scope: Scope,
  options: AnyOptions = {},
  smtp: Parameters<typeof startMailServer>[1] = {},
) {
  const mailServer = await startMailServer(scope, smtp)
  const server = await startServer(scope, toMailOptions(mailServer), options)
  return createMailClient(server, mailServer)
}

export function createMailClient(server: Server, mailServer: MailServer) {
  const ask = (request: Asked): Promise<Reply> => send(server.document, { method: 'POST', ...request })
  const setAddress = (name: string, address: string | null, as = AS_ADMIN) =>
    ask({ as, method: 'PUT', path: `${API}/users/${name}/address`, body: { address } })
  const addUser = async (name: string, address?: string, more: object = {}): Promise<void> => {
    const body = { name, password: 'first', ...more }
    assert.equal((await ask({ as: AS_ADMIN, path: `${API}/users`, body })).status, 200)
    if (address !== undefined) assert.equal((await setAddress(name, address)).status, 200)
  }
  const requestAddress = (name: string, address: string, password = 'first') =>
    ask({ as: `${name}:${password}`, path: `${ACCOUNT}/address`, body: { address } })
  const confirmAddress = (token: string) => ask({ path: `${ACCOUNT}/address/confirm`, body: { token } })
  const forget = (address: string) => ask({ path: `${ACCOUNT}/password-reset`, body: { address } })
  /** As a user who knows the password, and has the new mailbox. */
  const changeAddress = async (name: string, address: string, password = 'first'): Promise<void> => {
    assert.equal((await requestAddress(name, address, password)).status, 200)
    assert.equal((await confirmAddress(tokenOf(await mailServer.take(address)))).status, 200)
  }
  let markers = 0
  return {
    server,
    mailServer,
    ask,
    addUser,
    setAddress,
    requestAddress,
    confirmAddress,
    forget,
    changeAddress,
    confirmReset: (token: string, password: string) =>
      ask({ path: `${ACCOUNT}/password-reset/confirm`, body: { token, password } }),
    undo: (token: string, password = 'mine') => ask({ path: `${ACCOUNT}/address/undo`, body: { token, password } }),
    showAddress: async (name: string, password = 'first') =>
      (await ask({ as: `${name}:${password}`, method: 'GET', path: `${ACCOUNT}/address` })).json.address,
    countMails: (receiver: string) => mailServer.mails.filter((mail) => mail.receiver === receiver).length,
    /** All messages of these kinds that were asked for so far have been sent: a later one has arrived. */
    async settle(): Promise<void> {
      markers += 1
      const name = `marker-${markers}`
      await addUser(name, `${name}@example.com`)
      await changeAddress(name, `${name}-2@example.com`)
      await mailServer.take(`${name}@example.com`)
      await forget(`${name}-2@example.com`)
      await mailServer.take(`${name}-2@example.com`)
    },
  }
}
