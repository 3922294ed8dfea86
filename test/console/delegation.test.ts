// What a user administrator sees in the console and may do, imports, and locked accounts, in a real browser.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { launchBrowser, NO_BROWSER, openAs, openAsAdmin, openWindow } from '../support/chromium.ts'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope, type Scope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const PASSWORD = 'analytical-engine'
const scope = createSharedScope()
const browser = await launchBrowser(scope)
const server = await startServer(scope, { admin: { 'user-admin-role': 'helpdesk' }, chttpd_auth: { iterations: 1 } })

const ask = (method: string, path: string, body?: object) =>
  send(server.document, { method, path: `/_cardea/api${path}`, as: AS_ADMIN, ...(body && { body }) })

const addUser = (name: string, rest: object = {}) => ask('POST', '/users', { name, password: PASSWORD, ...rest })

const openFor = (t: Scope, name: string) => openAs(t, browser, { url: server.document, name, password: PASSWORD })

const openAt = (t: Scope, at: string) => openAsAdmin(t, browser, { url: server.document, at })

describe('a user administrator', { skip: NO_BROWSER }, () => {
  it('manages users with no more rights, and sees nothing of the rest', async (t) => {
    await addUser('sue', { roles: ['helpdesk', 'reader'] })
    await addUser('joe', { roles: ['reader'] })
    await addUser('eva', { roles: ['billing'] })
    const { page, open } = await openFor(t, 'sue')
    const links = await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allInnerTexts()
    assert.deepEqual(
      links.map((text) => text.trim()),
      ['Users', 'My account'],
    )
    assert.equal(await page.getByRole('link', { name: 'Import' }).count(), 0)
    await open('#/users/joe?do=disable')
    await page.getByRole('dialog').getByRole('button', { name: 'Disable joe' }).click()
    await page.getByText('joe is disabled.').waitFor()
    await page.getByLabel('Add a role').fill('billing')
    await page.getByLabel('Add a role').press('Enter')
    await page.getByRole('complementary').getByRole('alert').waitFor()
    assert.deepEqual((await ask('GET', '/users/joe')).json.roles, ['reader'])
    await open('#/users/eva?do=delete')
    await page.getByText('your rights do not include changing it').waitFor()
    assert.equal(await page.getByRole('dialog').count(), 0)
    await open('#/settings')
    await page.getByRole('heading', { name: 'There is no such page', level: 1 }).waitFor()
  })
})

describe('a locked account', { skip: NO_BROWSER }, () => {
  it('is refused with the reason, and an administrator unlocks it', async (t) => {
    await addUser('lea')
    const signIn = (password: string) =>
      send(server.document, { method: 'POST', path: '/_session', body: { name: 'lea', password } })
    for (let at = 0; at < 25 && (await signIn('wrong')).status === 401; at += 1);
    const user = await openWindow(t, browser, { url: server.document })
    await user.signIn('lea', PASSWORD)
    await user.page.getByRole('alert').waitFor()
    assert.doesNotMatch((await user.page.getByRole('alert').textContent()) ?? '', /Wrong name/)
    const { page } = await openAt(t, '#/users/lea')
    await page.getByRole('button', { name: 'Unlock' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Unlock lea' }).click()
    await page.getByText('lea is unlocked.').waitFor()
    await user.signIn('lea', PASSWORD)
    await user.page.getByRole('navigation', { name: 'Pages' }).waitFor()
  })
})

/** The console sends 500 at a time. */
const COUNT = process.env['TEST_LONG'] ? 10_000 : 3000
const COUNTED = COUNT.toLocaleString('en')
const STORED = {
  password_scheme: 'pbkdf2',
  pbkdf2_prf: 'sha256',
  iterations: 1,
  salt: '00',
  derived_key: '00'.repeat(32),
}

/** A file of `cardea export` with stored hashes. */
function renderFile(): Buffer {
  const users = Array.from({ length: COUNT }, (_, at) =>
    JSON.stringify({ user: { name: `import-${at}`, password: STORED, roles: ['imported'] } }),
  )
  return Buffer.from(['{"cardea":"directory","version":1}', ...users, '{"end":"directory"}', ''].join('\n'))
}

describe('an import', { skip: NO_BROWSER }, () => {
  it(`of ${COUNTED} users shows its progress and a report`, async (t) => {
    const before = (await ask('GET', '/transfer/count')).json.users
    const { page } = await openAt(t, '#/users?do=import')
    const file = { name: 'users.jsonl', mimeType: 'application/x-ndjson', buffer: renderFile() }
    await page.getByLabel('File').setInputFiles(file)
    await page.getByRole('button', { name: `Import ${COUNTED} users` }).click()
    await page.getByRole('progressbar').waitFor()
    await page.getByRole('dialog', { name: 'Import finished' }).waitFor({ timeout: 60_000 })
    await page.getByText(`${COUNTED} of ${COUNTED} users`).waitFor()
    assert.equal((await ask('GET', '/transfer/count')).json.users, before + COUNT)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'import-0', exact: true }).waitFor()
  })

  it('of a list shows what will change, and changes only that', async (t) => {
    const had = { name: 'csv-had', password: PASSWORD, roles: ['old'], grants: [{ database: 'lab', level: 'ro' }] }
    await ask('POST', '/users', had)
    await ask('POST', '/users', { name: 'csv-same', roles: ['new'] })
    const { page } = await openAt(t, '#/users?do=import')
    const choose = (name: string, text: string) =>
      page.getByLabel('File').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
    await choose('x.csv', 'name;rights;passwrd;active\n\nada;all;;maybe\n')
    const problems = page.getByRole('dialog').getByRole('alert')
    await problems.getByText('3 problems in the file.').waitFor()
    await problems.getByText('Line 1: the column rights is unknown. A user has name, active,').waitFor()
    await problems.getByText('Line 1: the column passwrd is unknown. Did you mean password?').waitFor()
    await problems.getByText('Line 3: active must be true or false.').waitFor()
    await choose('x.jsonl', '{"name":"ada"}\n{"name":"bob","roles":"editor"}\n')
    await page.getByText('Line 2: roles must be a list of roles, as ["editor"].').waitFor()
    await choose('x.jsonl', '{"name":"ada"}\nbob\n')
    await page.getByText('Line 2: this is not a JSON object.').waitFor()
    await choose('x.csv', 'name,password,active\nada,"two\nlines",\nbob,,maybe\n')
    await page.getByText('Line 4: active must be true or false.').waitFor()
    await choose('x.csv', 'name,roles\nada,a\nbob,\nada,b\n')
    await page.getByText('Line 4: the name ada is in line 2 too.').waitFor()
    const rows = [
      'csv-had,new; old friend,lab:rw,,',
      '"csv-new",new,,a-first-password,2090-01-31',
      'csv-same,new,,,',
      '_bad,,,,',
    ]
    await choose('x.csv', ['name,roles,grants,password,expires', ...rows, ''].join('\r\n'))
    await page.getByLabel('Change users that exist already').check()
    const preview = page.getByRole('region', { name: 'What the import will do' })
    const had1 = preview.getByRole('row', { name: 'csv-had changed' })
    await had1.getByText('roles old → new, old friend; lab ro → rw').waitFor()
    const new1 = preview.getByRole('row', { name: 'csv-new created' })
    await new1.getByText('roles none → new; expires never → 2090-01-31').waitFor()
    await preview.getByRole('row', { name: 'csv-same kept as before' }).waitFor()
    await preview.getByRole('row', { name: '_bad refused' }).waitFor()
    assert.equal((await ask('GET', '/users/csv-new')).status, 404, 'a preview changes nothing')
    await page.getByRole('button', { name: 'Import 2 users' }).click()
    await page.getByRole('dialog', { name: 'Import finished' }).getByText('4 of 4 users').waitFor()
    const changed = (await ask('GET', '/users/csv-had')).json
    assert.deepEqual([changed.roles, changed.grants], [['new', 'old friend'], { lab: { level: 'rw' } }])
    assert.notEqual(changed.password, null, 'what the list leaves out stays')
    const created = (await ask('GET', '/users/csv-new')).json
    assert.deepEqual([created.expires, created.mustChangePassword], ['2090-01-31T00:00:00Z', true])
  })

  it('refuses another file and one that is cut off', async (t) => {
    const { page } = await openAt(t, '#/users?do=import')
    const choose = (text: string) =>
      page.getByLabel('File').setInputFiles({ name: 'x', mimeType: 'text/plain', buffer: Buffer.from(text) })
    await choose('{"users":[]}')
    await page.getByText('This is not a file of cardea export.').waitFor()
    await choose('{"cardea":"directory","version":1}\n{"user":{"name":"x"}}\n')
    await page.getByText('The last line is missing').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled())
  })
})
