// The page of secrets in the console, in a real browser.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { makeAuditKey } from '../../src/observe/audit/audit-key.ts'
import { launchBrowser, NO_BROWSER, openAsAdmin, type Window } from '../support/chromium.ts'
import { send } from '../support/request.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const scope = createSharedScope()
const browser = await launchBrowser(scope)
const folder = makeFolder(scope)
writeFileSync(join(folder, '1.key'), 'a-first-secret-of-the-token-folder')
const COUCHDB_SECRET = 'a-secret-that-couchdb-has-too'
const auditKey = join(makeFolder(scope), 'audit.pem')
writeFileSync(auditKey, makeAuditKey(), { mode: 0o600 })
const server = await startServer(scope, {
  upstream: { 'document-secret': COUCHDB_SECRET },
  audit: { 'key-file': auditKey },
  server: { 'jwt-secret-folder': folder, 'jwt-secret': '', 'jwt-secret-watch': false },
  chttpd_auth: { secret: undefined },
})

async function createToken(): Promise<string> {
  const body = { username: 'admin', password: 'adminpw' }
  return (await send(server.multiModel, { method: 'POST', path: '/_open/auth', body })).json.jwt
}

const verify = async (token: string) =>
  (await send(server.multiModel, { path: '/_api/version', as: `bearer ${token}` })).status

/** As if the tokens of the old secret had expired. */
function letTokensExpire(): void {
  const path = join(folder, '.rotation.json')
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), activatedAt: 1 }))
}

describe('the page of secrets', { skip: NO_BROWSER }, () => {
  let window: Window

  before(async () => {
    window = await openAsAdmin(scope, browser, { url: server.document, at: '#/nodes' })
  })

  it('replaces the secret that signs tokens in three steps, and no valid token is rejected before the last', async () => {
    const { page, open } = window
    const old = await createToken()
    await open('#/secrets')
    const steps = page.getByRole('region', { name: 'Replace the secret that signs' })
    assert.ok(await steps.getByRole('button', { name: 'Sign with it' }).isDisabled())

    await steps.getByRole('button', { name: 'Add a secret' }).click()
    await page.getByText('1.key.next is added and verifies.').waitFor()
    await page.getByRole('row', { name: '1.key.next' }).getByText('verifies', { exact: true }).waitFor()

    await steps.getByRole('button', { name: 'Sign with it' }).click()
    await page.getByText('.key signs from now on.').waitFor()
    const fresh = await createToken()
    const retire = steps.getByRole('button', { name: /^Remove the old one \(from \d/ })
    await retire.waitFor()
    assert.ok(await retire.isDisabled(), 'tokens of the old secret may still be valid')
    assert.deepEqual([await verify(old), await verify(fresh)], [200, 200])

    letTokensExpire()
    await page.reload()
    await steps.getByRole('button', { name: 'Remove the old one', exact: true }).click()
    await page.getByText('1.key is removed.').waitFor()
    await steps
      .getByRole('listitem')
      .filter({ hasText: 'Add a new secret' })
      .and(page.locator('[aria-current]'))
      .waitFor()
    assert.deepEqual([await verify(old), await verify(fresh)], [401, 200])
    assert.equal(readdirSync(folder).length, 1)
  })

  it('removes a secret that has leaked before its tokens expire', async () => {
    const { page, open } = window
    const old = await createToken()
    await open('#/secrets')
    const steps = page.getByRole('region', { name: 'Replace the secret that signs' })
    await steps.getByRole('button', { name: 'Add a secret' }).click()
    await steps.getByRole('button', { name: 'Sign with it' }).click()
    await steps.getByRole('button', { name: 'It has leaked' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove the old secret now' }).click()
    await page.getByText('.key is removed.').first().waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.equal(await verify(old), 401)
  })

  it('shows the secret of CouchDB and the key of the audit trail, by their hashes', async () => {
    const { page, open } = window
    await open('#/secrets')
    const couchdb = page.getByRole('table', { name: 'the identity of requests to CouchDB' })
    await couchdb.getByText(createHash('sha256').update(COUCHDB_SECRET).digest('hex').slice(0, 12)).waitFor()
    const audit = page.getByRole('table', { name: 'checkpoints of the audit trail' })
    await audit.getByText('Ed25519').waitFor()
    await audit.getByText('audit.pem').waitFor()
  })

  it('replaces the cookie secret; the old one verifies until it is rejected at once', async () => {
    const { page, open } = window
    await open('#/secrets')
    const rows = page.getByRole('table', { name: 'session cookies' }).locator('tbody tr')
    await rows.first().waitFor()
    const replace = async (isImmediate: boolean) => {
      await page.getByRole('button', { name: 'Replace the cookie secret' }).click()
      const dialog = page.getByRole('dialog', { name: 'Replace the cookie secret' })
      if (isImmediate) {
        await dialog.getByLabel('Reject cookies of the old secret at once').check()
        await dialog.getByText('Every session at the document door and in the console ends at once').waitFor()
      }
      await dialog.getByRole('button', { name: 'Replace the cookie secret' }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    await replace(false)
    await rows.nth(1).getByText('verifies', { exact: true }).waitFor()
    await replace(true)
    await page.getByText('Your session has ended. Sign in again.').waitFor()
    await window.signIn('admin', 'adminpw')
    // what was loaded before stays until it is loaded again
    await rows.nth(1).waitFor({ state: 'detached' })
    assert.equal(await rows.count(), 1)
  })

  it('shows files only where secrets have some', async () => {
    const { page, open } = window
    await open('#/secrets')
    const columnsOf = (name: string) => page.getByRole('table', { name }).getByRole('columnheader').allInnerTexts()
    await page.getByRole('table', { name: 'session cookies' }).waitFor()
    assert.ok(!(await columnsOf('session cookies')).includes('File'))
    assert.ok((await columnsOf('tokens')).includes('File'))
  })

  it('reads the files again, and shows a secret that cannot be used', async () => {
    const { page, open } = window
    await open('#/secrets')
    await page.getByRole('button', { name: 'Reload from files' }).click()
    await page.getByText('1 secret read again.').waitFor()
    writeFileSync(join(folder, '!.key'), '')
    await page.getByRole('button', { name: 'Reload from files' }).click()
    await page.getByRole('alert').getByText('The last reload failed; the previous secrets are in use.').waitFor()
  })
})
