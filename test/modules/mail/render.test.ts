import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { MESSAGES, type MessageName } from '../../../src/modules/mail/messages.ts'
import { listUnknown, loadTemplate, renderMessage } from '../../../src/modules/mail/render.ts'
import { makeFolder } from '../../support/scope.ts'

const VALUES = { product: 'Shop', user: 'ada', link: 'https://db.example.com/_cardea/#/x/T', lifetime: '15 minutes' }
const NAMES = Object.keys(MESSAGES) as readonly MessageName[]

describe('a message', () => {
  it('says the same as text and as HTML', async () => {
    const { subject, text, html } = await renderMessage('password-reset', VALUES, '')
    assert.equal(subject, 'Choose a new password for Shop')
    assert.equal(
      text,
      `A new password was requested for the account ada at Shop.

Choose a new password:
${VALUES.link}

The link works once, within 15 minutes. A new password ends all sessions of the account.

If you did not ask for it, ignore this message: nothing has changed.
`,
    )
    assert.match(
      html,
      /<a class="button" href="https:\/\/db\.example\.com\/_cardea\/#\/x\/T">Choose a new password<\/a>/,
    )
    assert.match(html, /within 15 minutes/)
  })

  for (const name of NAMES)
    it(`${name} has only placeholders that exist`, async () => {
      assert.deepEqual(listUnknown(await loadTemplate(name, '')), [])
    })

  it('shows what a value contains as text', async () => {
    const { html, text } = await renderMessage('password-reset', { ...VALUES, user: '<img src=x onerror="a">&' }, '')
    assert.ok(html.includes('&lt;img src=x onerror=&quot;a&quot;&gt;&amp;'))
    assert.ok(text.includes('<img src=x'))
  })

  it('does not fill placeholders in a value', async () => {
    const { text } = await renderMessage('password-reset', { ...VALUES, user: '{{link}}' }, '')
    assert.match(text, /the account \{\{link\}\} at Shop/)
  })

  it('has a subject of one line', async () => {
    const { subject } = await renderMessage(
      'password-reset',
      { ...VALUES, product: 'Shop\r\nBcc: eve@example.com' },
      '',
    )
    assert.equal(subject, 'Choose a new password for Shop Bcc: eve@example.com')
  })
})

describe('a template of the operator', () => {
  it('replaces subject and text, and the HTML shows that text', async (t) => {
    const folder = makeFolder(t)
    writeFileSync(join(folder, 'password-reset.txt'), 'Subject: Hello {{user}}\n\nGo to\n{{link}} <now>\n')
    const { subject, text, html } = await renderMessage('password-reset', VALUES, folder)
    assert.equal(subject, 'Hello ada')
    assert.equal(text, `Go to\n${VALUES.link} <now>\n`)
    assert.ok(html.includes(`<a href="${VALUES.link}">${VALUES.link}</a> &lt;now&gt;`))
    assert.equal((await renderMessage('verify-address', VALUES, folder)).subject, 'Confirm your address for Shop')
  })

  it('replaces the HTML alone', async (t) => {
    const folder = makeFolder(t)
    writeFileSync(
      join(folder, 'password-reset.html'),
      '<p>{{user}} <a href="https://app.example.com/#{{token}}">go</a>',
    )
    const { html, text } = await renderMessage('password-reset', { ...VALUES, token: 'T' }, folder)
    assert.equal(html, '<p>ada <a href="https://app.example.com/#T">go</a>')
    assert.match(text, /A new password was requested/)
  })

  it('keeps the subject of the table if it has none', async (t) => {
    const folder = makeFolder(t)
    writeFileSync(join(folder, 'password-reset.txt'), 'Dear {{user}},\nread this.')
    const { subject, text } = await renderMessage('password-reset', VALUES, folder)
    assert.deepEqual([subject, text], ['Choose a new password for Shop', 'Dear ada,\nread this.'])
  })

  it('names placeholders that no message has', async (t) => {
    const folder = makeFolder(t)
    writeFileSync(join(folder, 'password-reset.txt'), '{{user}} {{name}} {{name}}')
    assert.deepEqual(listUnknown(await loadTemplate('password-reset', folder)), ['name'])
  })
})
