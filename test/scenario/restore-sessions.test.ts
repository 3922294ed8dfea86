// Which credentials work after a backup was restored, with and without ending them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import { openSnapshot } from '../../src/store/backup/engines.ts'
import { restoreBackup } from '../../src/store/backup/restore-backup.ts'
import { writeBackup } from '../../src/store/backup/write-backup.ts'
import { createSqlitePlace } from '../store/places.ts'
import { AS_ADMIN, type Request, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { type Server, startServer } from '../support/server.ts'

const PASSWORD = 'analytical-engine'
const scope = createSharedScope()
const place = await createSqlitePlace()
scope.after(place.remove)
const file = `${place.url.replace('sqlite:', '')}.backup`
const options = { store: { url: place.url } }

const require = async (server: string, request: Request, status: number) => {
  const reply = await send(server, request)
  assert.equal(reply.status, status, reply.body)
  return reply
}

/** A user and an administrator of the options, with a credential of each kind. */
async function openCredentials({ document, multiModel }: Server) {
  const user = { user: 'ada', passwd: PASSWORD }
  await require(multiModel, { as: AS_ADMIN, method: 'POST', path: '/_api/user', body: user }, 201)
  const openCookie = async (name: string, password: string) => {
    const reply = await require(document, { method: 'POST', path: '/_session', body: { name, password } }, 200)
    return { Cookie: reply.header('set-cookie')?.split(';')[0] ?? '' }
  }
  const body = { username: 'ada', password: PASSWORD }
  const { json: issued } = await require(multiModel, { method: 'POST', path: '/_open/auth', body }, 200)
  const valid = { name: 't', valid_until: Math.floor(Date.now() / 1000) + 3600 }
  const request = { as: `ada:${PASSWORD}`, method: 'POST', path: '/_api/token/ada', body: valid }
  const { json: access } = await require(multiModel, request, 200)
  return {
    'the cookie of a user': { door: 'document', headers: await openCookie('ada', PASSWORD) },
    'the cookie of an administrator': { door: 'document', headers: await openCookie('admin', 'adminpw') },
    'a token': { door: 'multiModel', headers: { Authorization: `Bearer ${issued.jwt}` } },
    'an access token': { door: 'multiModel', as: `ada:${access.token}` },
  } as const
}

test('a restore keeps the credentials of the backup, or ends them', async (t) => {
  const first = await startServer(scope, options)
  const credentials = await openCredentials(first)
  await first.cardea.close()
  const snapshot = await openSnapshot(place.url)
  await writeBackup(snapshot, file, { nowMs: Date.now() }).finally(() => snapshot.close())
  const end = { endSessionsAt: Math.floor(Date.now() / 1000) }
  for (const [how, more, isAccepted] of [
    ['kept', {}, true],
    ['ended', end, false],
  ] as const)
    await t.test(`they are ${how}`, async () => {
      await restoreBackup(file, { url: place.url, mayReplace: true, log: SILENT_LOG, ...more })
      const server = await startServer(scope, options)
      for (const [what, { door, ...credential }] of Object.entries(credentials)) {
        const path = door === 'document' ? '/_session' : '/_api/user/ada'
        const reply = await send(server[door], { path, ...credential })
        const isSignedIn = door === 'document' ? reply.json.userCtx?.name != null : reply.status === 200
        assert.equal(isSignedIn, isAccepted, `${what}: ${reply.body}`)
      }
      await require(server.document, { path: '/_session', as: `ada:${PASSWORD}` }, 200)
      await server.cardea.close()
    })
})
