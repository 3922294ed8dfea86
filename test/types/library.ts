// Compiles, and wrong code does not: `tsc` complains where an error that is expected here does not come.
import { createServer } from 'node:http'
import {
  type Addresses,
  type Cardea,
  CardeaError,
  type CardeaOptions,
  type CardeaSession,
  type CardeaUser,
  ConfigError,
  type CreatedSession,
  createCardea,
  createTestCardea,
  type Log,
  type ReloadReport,
  StartError,
  TEST_ADMINISTRATOR,
  type VerifiedUser,
} from '../../src/index.ts'

export async function useWell(log: Log): Promise<void> {
  const cardea: Cardea = await createCardea({
    options: {
      store: { url: 'sqlite::memory:' },
      chttpd: { port: 0, require_valid_user: true, authentication_handlers: 'cookie, default' },
      server: { endpoint: 'tcp://127.0.0.1:0', 'session-timeout': 60 },
      chttpd_auth: { same_site: 'strict', iterations: 10 },
      door: { 'max-body-bytes': '8 MiB' },
      admins: { ada: 'analytical' },
      jwt_keys: { 'hmac:_default': 'c2VjcmV0' },
      'provider:corp': { issuer: 'https://id.example.com', audience: 'cardea', users: 'create' },
    },
    files: ['etc/local.ini'],
    env: process.env,
    log,
  })
  const { document, multiModel }: Addresses = await cardea.listen()
  const urls: readonly string[] = [...document, ...multiModel]
  createServer((request, response) => void cardea.handle(request, response)).close()
  createServer((request, response) => void cardea.handle(request, response, 'multi-model')).close()
  const { isApplied, problems, changed, needRestart }: ReloadReport = await cardea.reload()
  log.info('reloaded', { isApplied, problems, changed, needRestart, urls })
  await cardea.close()
}

export async function useInTests(): Promise<string> {
  const cardea = await createTestCardea({ options: { chttpd: { require_valid_user: true } } })
  await cardea.close()
  return `${TEST_ADMINISTRATOR.name}:${TEST_ADMINISTRATOR.password}`
}

export async function manageUsers({ users, sessions }: Cardea): Promise<readonly CardeaSession[]> {
  const created: CardeaUser = await users.create({ name: 'ada', password: 'engine', grants: { shop: 'rw' } })
  await users.update(created.name, { roles: ['member'], grants: { shop: null } })
  const verified: VerifiedUser | undefined = await users.verifyPassword('ada', 'engine', { code: '123456' })
  if (!verified) return []
  const headers = new Headers()
  const { id, cookie }: CreatedSession = await sessions.create(verified, { response: headers })
  const isRevoked: boolean = await sessions.revoke(id)
  const page = await sessions.list('ada', { limit: 10 })
  await users.list({ limit: 10, ...(isRevoked && { after: cookie }) }).catch((error: unknown) => {
    if (error instanceof CardeaError) return [error.code, error.status, error.retryAfterSeconds]
    throw error
  })
  return page.sessions
}

export function explain(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems.map(({ place, message }) => `${place}: ${message}`)
  return error instanceof StartError ? [error.message] : []
}

const good: CardeaOptions = { chttpd: { port: 5984 } }

/** What modules add. */
export async function useModules({ events, mail, passwordLinks }: Cardea): Promise<number> {
  await mail.invite({ address: 'ada@example.com', roles: ['reader'] })
  events.on('password-link.used', ({ fields }) => fields.subject.toUpperCase())
  return (await passwordLinks.create('ada')).expiresAt.getTime()
}

/** The options of modules. */
export const useModuleOptions = (): Promise<Cardea> =>
  createCardea({
    options: { document: { grants: 'enforce' }, mail: { url: 'smtps://mail.example.com', 'sign-up': 'verified' } },
  })

export async function useWrongly(cardea: Cardea): Promise<void> {
  // @ts-expect-error an unknown option
  await createCardea({ options: { chttpd: { prot: 5984 } } })
  // @ts-expect-error an unknown section
  await createCardea({ options: { chttp: { port: 5984 } } })
  // @ts-expect-error an unknown option of a provider
  await createCardea({ options: { 'provider:corp': { isuer: 'https://id.example.com' } } })
  // @ts-expect-error a number where there are two answers
  await createCardea({ options: { chttpd: { require_valid_user: 1 } } })
  // @ts-expect-error a word that is none of those
  await createCardea({ options: { chttpd_auth: { same_site: 'sometimes' } } })
  // @ts-expect-error a list is one text, as in a file
  await createCardea({ options: { chttpd: { authentication_handlers: ['cookie'] } } })
  // @ts-expect-error a password is a text
  await createCardea({ options: { admins: { ada: 1 } } })
  // @ts-expect-error one file is a list of one
  await createCardea({ files: 'etc/local.ini' })
  // @ts-expect-error a log has four levels
  await createCardea({ log: { info() {} } })
  // @ts-expect-error there are two doors
  await cardea.handle({}, {}, 'third')
  // @ts-expect-error roles are a list
  await cardea.users.create({ name: 'ada', password: null, roles: 'member' })
  // @ts-expect-error a user has a password, or null
  await cardea.users.create({ name: 'ada' })
  // @ts-expect-error a level is rw, ro or none
  await cardea.users.update('ada', { grants: { shop: 'all' } })
  // @ts-expect-error a wrong password gives no user
  const roles = (await cardea.users.verifyPassword('ada', 'engine')).roles
  // @ts-expect-error addresses are lists
  const address: string = (await cardea.listen()).document
  // @ts-expect-error options are not changed after they are given
  good.chttpd = { port: 1 }
  return void [address, roles]
}
