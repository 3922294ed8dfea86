// The page of secrets in the console, in a real browser.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { makeAuditKey } from '../../src/observe/audit/audit-key.ts'
import { launchBrowser, NO_BROWSER, openAsAdmin, type Window } from '../support/chromium.ts'
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

describe('the page of secrets', { skip: NO_BROWSER }, () => {
  let window: Window

  before(async () => {
    window = await openAsAdmin(scope, browser, { url: server.document, at: '#/nodes' })
  })

  it('names the command that replaces the secret that signs tokens', async () => {
    const { page, open } = window
    await open('#/secrets')
    const sentence = page.getByText('To replace a secret of server.jwt-secret-folder, run cardea secret rotate.')
    await sentence.getByRole('link', { name: 'docs/guides/rotate-secrets.md' }).waitFor()
    assert.equal(await sentence.count(), 1)
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
