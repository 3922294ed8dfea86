import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { it } from 'node:test'
import { toExternalKey } from '../../../src/directory/users/user.ts'
import type { CommandResult } from '../../support/commands.ts'
import { ADMIN_PASSWORD, CONFIG, type Managed, makeManaged } from '../../support/managed.ts'
import { stop } from '../../support/process.ts'

interface Row {
  readonly args: readonly string[]
  readonly input?: string
  readonly code: number
  /** On standard output where it goes well, else on standard error. */
  readonly says?: RegExp | string
}

const PASSWORDS = { ann: 'the-password-of-ann', new: 'the-new-password', root: 'the-password-of-root' }

const ROWS: readonly Row[] = [
  { args: ['user', 'list'], code: 0, says: 'NAME  ACTIVE  ROLES  GRANTS\n' },
  { args: ['user', 'list', '--json'], code: 0, says: '' },
  {
    args: ['user', 'add', 'ann', '--password-stdin', '--role', 'a', '--role', 'b', '--grant', 'shop=rw'],
    input: `${PASSWORDS.ann}\n`,
    code: 0,
    says: 'Made ann.\n',
  },
  { args: ['user', 'add', 'ann', '--password-stdin'], input: 'x', code: 7, says: /^The name ann is taken/ },
  { args: ['user', 'add', 'ann', '--no-password', '--json'], code: 7, says: /^\{"error":"conflict","reason":/ },
  { args: ['user', 'add', 'admin', '--no-password'], code: 7, says: /^The name admin is taken/ },
  { args: ['user', 'add', 'b:c', '--no-password'], code: 1, says: /^The name must not hold a colon\.$/m },
  { args: ['user', 'add', 'bob', '--no-password', '--role', '_admin'], code: 1, says: /^A role must not begin/ },
  { args: ['user', 'add', '..', '--no-password', '--disabled', '--json'], code: 0, says: /"active": false/ },
  { args: ['user', 'show', '..'], code: 0, says: /^can sign in +no: disabled$/m },
  { args: ['user', 'show', 'ann'], code: 0, says: /^grants +shop rw$/m },
  { args: ['user', 'show', 'ann', '--json'], code: 0, says: /"password": "pbkdf2 sha256 1"/ },
  { args: ['user', 'show', 'unknown'], code: 5, says: 'There is no user unknown.\n' },
  { args: ['user', 'show', 'unknown', '--json'], code: 5, says: /^\{"error":"not_found",/ },
  { args: ['user', 'set-password', 'ann', '--password-stdin'], input: PASSWORDS.new, code: 0, says: /^ann has a new/ },
  {
    args: ['user', 'set-password', 'ann', '--password-stdin'],
    input: PASSWORDS.new,
    code: 0,
    says: 'ann has this password already; nothing was changed.\n',
  },
  { args: ['user', 'set-password', 'ann', '--password-stdin'], input: 'a\0', code: 1, says: /the character NUL\.$/m },
  { args: ['hash', '--password-stdin'], input: 'a\0', code: 1, says: /the character NUL\.$/m },
  { args: ['user', 'set-password', 'unknown', '--password-stdin'], input: PASSWORDS.new, code: 5 },
  { args: ['user', 'roles', 'ann'], code: 0, says: 'a\nb\n' },
  { args: ['user', 'roles', 'ann', 'x', 'y'], code: 0, says: 'x\ny\n' },
  { args: ['user', 'roles', 'ann', '--add', 'z', '--remove', 'x'], code: 0, says: 'y\nz\n' },
  { args: ['user', 'roles', 'ann', 'a,b'], code: 1, says: /^A role must not hold a comma\.$/m },
  { args: ['user', 'roles', 'ann', '--none'], code: 0, says: 'ann has no roles.\n' },
  {
    args: ['user', 'grant', 'ann', 'shop', 'ro', '--collection', 'orders'],
    code: 0,
    says: /shop rw, shop\/orders ro$/m,
  },
  { args: ['user', 'may', 'ann', 'shop'], code: 0, says: /^yes use the database shop: The grant on shop/m },
  { args: ['user', 'may', 'ann', 'shop', '--json'], code: 0, says: /"what": "use the database shop"/ },
  { args: ['user', 'may', 'unknown'], code: 5, says: 'There is no user unknown.\n' },
  { args: ['user', 'grant', 'ann', 'shop', 'remove'], code: 0, says: /^grants +shop\/orders ro$/m },
  { args: ['user', 'grant', 'ann', '*', 'none', '--json'], code: 0, says: /"\*": \{\s+"level": "none"/ },
  { args: ['user', 'expire', 'ann', '2001-01-01'], code: 0, says: /^ann cannot sign in from 2001-01-01T00:00:00Z on/ },
  { args: ['user', 'show', 'ann'], code: 0, says: /^can sign in +no: expired$/m },
  { args: ['user', 'expire', 'ann', 'soon'], code: 1, says: /^expires must be a day or a time in UTC/ },
  { args: ['user', 'expire', 'ann', 'never'], code: 0, says: 'ann can sign in without a time limit.\n' },
  { args: ['user', 'require-password-change', 'ann'], code: 0, says: 'ann must change the password.\n' },
  { args: ['user', 'show', 'ann'], code: 0, says: /^must change password +yes$/m },
  { args: ['user', 'require-password-change', 'ann', '--off'], code: 0, says: 'ann need not change the password.\n' },
  {
    args: ['user', 'set-password', 'ann', '--password-stdin', '--must-change'],
    input: PASSWORDS.new,
    code: 0,
    says: 'ann has this password already; it must be changed.\n',
  },
  { args: ['user', 'show', 'ann', '--json'], code: 0, says: /"mustChangePassword": true/ },
  { args: ['user', 'set', 'ann', 'active', 'maybe'], code: 2, says: /^active must be true or false\.$/m },
  { args: ['user', 'set', 'ann', 'active', 'false'], code: 0, says: /^can sign in +no: disabled$/m },
  { args: ['user', 'set', 'ann', 'active', 'true'], code: 0, says: /^can sign in +yes$/m },
  { args: ['user', 'set', 'ann', 'expiry', '2001-01-01'], code: 0, says: /^expires +2001-01-01T00:00:00Z$/m },
  { args: ['user', 'set', 'ann', 'expiry', 'never'], code: 0, says: /^can sign in +yes$/m },
  { args: ['user', 'disable', 'ann'], code: 0, says: /^ann can no longer sign in/ },
  { args: ['user', 'list'], code: 0, says: /^ann +no /m },
  { args: ['user', 'enable', 'ann'], code: 0, says: 'ann can sign in.\n' },
  { args: ['user', 'sign-out', 'ann'], code: 0, says: 'All sessions of ann have ended.\n' },
  { args: ['user', 'list', '--limit', '1', '--json'], code: 0, says: /^\{"name":"\.\.".*\}\n$/ },
  { args: ['user', 'remove', 'ann'], code: 0, says: 'Deleted ann.\n' },
  { args: ['user', 'remove', 'ann'], code: 5 },
  { args: ['admin', 'list'], code: 0, says: 'NAME   PASSWORD\nadmin  pbkdf2 sha256 1\n' },
  { args: ['admin', 'remove', 'admin'], code: 1, says: 'The last administrator cannot be deleted.\n' },
  { args: ['admin', 'add', 'root', '--password-stdin'], input: PASSWORDS.root, code: 0, says: /^root is an/ },
  { args: ['admin', 'add', 'root', '--password-stdin'], input: 'x', code: 7, says: /set-password/ },
  { args: ['admin', 'add', 'root', '--replace', '--password-stdin'], input: PASSWORDS.new, code: 0 },
  { args: ['admin', 'list', '--json'], code: 0, says: /^\{"name":"root"/m },
  {
    args: ['admin', 'set-password', 'root', '--password-stdin'],
    input: PASSWORDS.root,
    code: 0,
    says: 'root has this password from now on.\n',
  },
  {
    args: ['admin', 'set-password', 'unknown', '--password-stdin'],
    input: PASSWORDS.root,
    code: 5,
    says: 'There is no administrator unknown.\n',
  },
  { args: ['admin', 'unlock', 'root'], code: 0, says: 'root was not locked.\n' },
  { args: ['admin', 'unlock', '..'], code: 5, says: 'There is no administrator ...\n' },
  { args: ['admin', 'remove', 'unknown'], code: 5, says: 'There is no administrator unknown.\n' },
  { args: ['admin', 'remove', 'root'], code: 0 },
  { args: ['config', 'set', 'chttpd_auth.timeout', '99'], code: 0, says: 'chttpd_auth.timeout = 99\n' },
  { args: ['config', 'set', 'chttpd_auth.timeout', '98', '--json'], code: 0, says: /"previous": "99"/ },
  { args: ['config', 'set', 'chttpd.bind_address', '127.0.0.1'], code: 0, says: /from the next start on/ },
  {
    args: ['config', 'set', 'chttpd_auth.hash_algorithms', 'sha256, md5', '--json'],
    code: 0,
    says: /md5: weak \(run time\)"/,
  },
  { args: ['config', 'set', 'chttpd_auth.hash_algorithms', 'sha256'], code: 0, says: /^chttpd_auth/ },
  { args: ['config', 'set', 'chttpd_auth.timout', '99'], code: 3, says: /did you mean timeout\?$/m },
  { args: ['config', 'set', 'chttpd_auth.timeout', 'x'], code: 4, says: /expected a whole number/ },
  {
    args: ['config', 'set', 'store.url', '--value-stdin'],
    input: 'sqlite:x',
    code: 1,
    says: /^\[store\] url cannot be changed at run time, because it decides where .* at the next start\.$/m,
  },
  {
    args: ['config', 'set', 'upstream.document', 'http://127.0.0.1:1'],
    code: 1,
    says: /because it decides where and how requests .*; it takes effect on reload\.$/m,
  },
  { args: ['config', 'unset', 'ssl.keyfile'], code: 1, says: /because it names a file of this machine\./ },
  { args: ['config', 'set', 'chttpd_auth.secret', '--value-stdin'], input: PASSWORDS.new, code: 0, says: /= \*\*\*$/m },
  {
    args: ['config', 'set', 'chttpd_auth.secret', '--value-stdin', '--now'],
    input: PASSWORDS.new,
    code: 0,
    says: /= \*\*\*$/m,
  },
  { args: ['config', 'set', 'chttpd_auth.timeout', '99', '--now'], code: 4, says: /Only chttpd_auth\.secret/ },
  { args: ['secret', 'replace'], code: 0, says: /^chttpd_auth\.secret is replaced\..* at most an hour\.$/m },
  { args: ['secret', 'replace', '--now'], code: 0, says: /the old one are refused from now on\.$/m },
  { args: ['config', 'unset', 'chttpd_auth.timeout'], code: 0 },
  { args: ['config', 'unset', 'chttpd_auth.timeout'], code: 5, says: 'chttpd_auth.timeout is not set at run time.\n' },
  {
    args: ['config', 'unset', 'chttpd_auth.min_iterations'],
    code: 5,
    says: /^chttpd_auth.min_iterations is not set at run/,
  },
  { args: ['config', 'unset', 'chttpd_auth.timout'], code: 3, says: /did you mean timeout\?$/m },
  { args: ['config', 'set', 'mine.long', 'x'.repeat(65_537)], code: 4, says: /longer than 65536 bytes/ },
  { args: ['config', 'set', 'mine.long', 'x'.repeat(65_536), '--json'], code: 0 },
]

/** Invalid usage is reported before any prompt. */
const MISUSE: readonly Row[] = [
  { args: ['user', 'add', 'bob'], code: 2, says: /--password-stdin/ },
  { args: ['user', 'add', ''], code: 2 },
  { args: ['user', 'add', 'bob', 'secret'], code: 2, says: /too many arguments/ },
  { args: ['audit', 'verify', '--bogus'], code: 3, says: /unknown option '--bogus'/ },
  { args: ['audit', 'verify', 'x'], code: 2, says: /too many arguments/ },
  { args: ['audit', 'list', '--help'], code: 0 },
  { args: ['user', 'add', 'bob', '--password', 'secret'], code: 3, says: /unknown option '--password'/ },
  { args: ['user', 'add', 'bob', '--no-password', '--grant', 'shop'], code: 2 },
  { args: ['user', 'add', 'bob', '--no-password', '--grant', 'shop=all'], code: 2 },
  { args: ['user', 'grant', 'ann', 'shop', 'all'], code: 2, says: /Allowed choices/ },
  { args: ['user', 'list', '--limit', '0'], code: 2 },
  { args: ['user', 'roles', 'bob', 'a', '--none'], code: 2, says: /roles or --none/ },
  { args: ['user', 'roles', 'bob', '--add', 'z', '--remove', 'z'], code: 2, says: /z cannot be added and removed/ },
  { args: ['hash', '--password-stdin', '--iterations', '1000000001'], code: 2, says: /1000000000/ },
  { args: ['hash', '--password-stdin', '--iterations', '6000001'], input: 'long enough', code: 1, says: /6000000/ },
  { args: ['config', 'set', 'chttpd_auth.secret', 'hush'], code: 2, says: /is a secret/ },
  { args: ['config', 'set', 'admins.eve', 'secret'], code: 2, says: /cardea admin add eve/ },
  { args: ['config', 'set', 'timeout', '1'], code: 2 },
  { args: ['config', 'set', 'chttpd_auth.timeout'], code: 2, says: /is missing/ },
  { args: ['user'], code: 2 },
  { args: ['serve', 'data'], code: 2, says: 'serve takes no argument: did you mean --config data?\n' },
  { args: ['user', 'add', '--help'], code: 0, says: /Exit codes:\n {2}0 {2}success/ },
]

async function runRow({ cardea }: Managed, { args, input, code, says }: Row): Promise<CommandResult> {
  const ended = await cardea(args, input)
  const row = `cardea ${args.join(' ')}\n${ended.stdout}${ended.stderr}`
  assert.equal(ended.code, code, row)
  const text = code === 0 ? ended.stdout : ended.stderr
  if (typeof says === 'string') assert.equal(text, says, row)
  else if (says) assert.match(text, says, row)
  return ended
}

/** One after the other; what they print is given back to be compared. */
async function runRows(managed: Managed, rows: readonly Row[]): Promise<readonly CommandResult[]> {
  const endings: CommandResult[] = []
  for (const row of rows) endings.push(await runRow(managed, row))
  return endings
}

/** A revision covers the salt of the password, which is random. */
const withoutDigest = ({ stdout, ...rest }: CommandResult): CommandResult => ({
  ...rest,
  stdout: stdout.replace(/\b(\d+)-[0-9a-f]{32}\b/g, '$1-…'),
})

const SECRETS = [...Object.values(PASSWORDS), ADMIN_PASSWORD]

for (const [word, rows] of Map.groupBy(ROWS, ({ args }) => args[0] ?? '')) {
  it(`cardea ${word}: the same with and without a running server, and no password is printed`, async (t) => {
    const [resting, served] = [makeManaged(t), makeManaged(t)]
    const server = await served.serve()
    // the first command makes the store, and says so
    await resting.cardea(['user', 'list'])
    const [alone, through] = await Promise.all([runRows(resting, rows), runRows(served, rows)])
    assert.deepEqual(through.map(withoutDigest), alone.map(withoutDigest))
    await stop(server)
    for (const trace of [...resting.traces, ...served.traces, server.stdout(), server.stderr()]) {
      for (const secret of SECRETS) assert.ok(!trace.includes(secret), `a password in: ${trace.slice(0, 300)}`)
    }
  })
}

it('cardea user password-link prints a link, with and without a running server', async (t) => {
  const managed = makeManaged(t)
  const says = /^https:\/\/db\.example\.com\/_cardea\/#\/password-link\/\S{43}\n$/
  const rows: readonly Row[] = [
    { args: ['user', 'password-link', 'lea'], code: 0, says },
    {
      args: ['user', 'password-link', 'lea', '--json'],
      code: 0,
      says: /"expiresAt": "\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"/,
    },
    { args: ['user', 'password-link', 'unknown'], code: 5, says: 'There is no user unknown.\n' },
  ]
  await runRows(managed, [
    { args: ['user', 'add', 'lea', '--no-password'], code: 0 },
    { args: ['user', 'password-link', 'lea'], code: 0, says: /^\/_cardea\/#\/password-link\/\S{43}\n$/ },
    { args: ['config', 'set', 'console.public-url', 'https://db.example.com'], code: 0 },
    ...rows,
  ])
  const server = await managed.serve()
  await runRows(managed, rows)
  await stop(server)
})

it('cardea user invite asks for a message, and says what is wrong', async (t) => {
  const managed = makeManaged(t)
  const invite = (...args: readonly string[]) => ['user', 'invite', ...args]
  await runRows(managed, [
    { args: invite('bob', 'bob@example.com'), code: 1, says: /^This server sends no messages: mail\.url is empty\.$/m },
    { args: ['config', 'set', 'console.public-url', 'https://db.example.com'], code: 0 },
  ])
  const mail = makeManaged(
    t,
    `${CONFIG}\n[mail]\nurl = smtp://127.0.0.1:1\nfrom = a@example.com\n[console]\npublic-url = https://db.example.com\n`,
  )
  const rows: readonly Row[] = [
    { args: invite('bob', 'bob@example.com', 'reader'), code: 0, says: 'An invitation for bob is on its way.\n' },
    { args: invite('bob', 'bob'), code: 1, says: /^address must be an e-mail address/ },
    { args: invite('lea', 'lea@example.com'), code: 7, says: /^A user has this name already\./ },
  ]
  await runRows(mail, [{ args: ['user', 'add', 'lea', '--no-password'], code: 0 }, ...rows])
  const server = await mail.serve()
  await runRows(mail, rows)
  await stop(server)
})

it('cardea user link lets an account at an identity provider sign in as a user, until unlink', async (t) => {
  const issuer = 'https://id.example.com'
  const managed = makeManaged(t, `${CONFIG}\n[provider:staff]\nissuer = ${issuer}\naudience = cardea\n`)
  const link = (name: string, provider = 'staff') => ['user', 'link', name, provider, issuer, 'u-1']
  const id = toExternalKey({ issuer, subject: 'u-1' })
  await runRows(managed, [
    ...['lea', 'max'].map((name) => ({ args: ['user', 'add', name, '--no-password'], code: 0 })),
    { args: link('lea', 'absent'), code: 1, says: /^No identity provider "absent" with this issuer is configured/ },
    { args: link('lea'), code: 0, says: `${id}  staff  u-1\n` },
    { args: link('max'), code: 7, says: /Another user has this external account/ },
    { args: ['user', 'external-accounts', 'lea'], code: 0, says: `${id}  staff  u-1\n` },
    { args: ['user', 'unlink', 'lea', id], code: 0, says: 'lea has no external accounts.\n' },
    { args: ['user', 'unlink', 'lea', id], code: 5 },
  ])
})

it('invalid usage exits with 2, an unknown option with 3, help with 0', async (t) => {
  const managed = makeManaged(t)
  await runRows(managed, MISUSE)
  assert.deepEqual(readdirSync(managed.folder), ['local.ini'], 'no store was opened')
})

const FORMS = [
  { form: 'admin', stored: /^-pbkdf2-[0-9a-f]{40},[0-9a-f]+,7\n$/ },
  { form: 'prf', stored: /^-pbkdf2:sha-[0-9a-f]{40},[0-9a-f]+,7\n$/ },
  { form: 'document', stored: /"pbkdf2_prf": "sha",\n(?:.*\n)*.*"iterations": 7,/ },
]

it('hash prints each stored form and reads the password from standard input only', async (t) => {
  const managed = makeManaged(t)
  const words = ['hash', '--password-stdin', '--prf', 'sha', '--iterations', '7']
  for (const { form, stored } of FORMS) {
    const { stdout, code } = await managed.cardea([...words, '--form', form], PASSWORDS.ann)
    assert.equal(code, 0)
    assert.match(stdout, stored)
  }
  assert.match((await managed.cardea(['hash', '--password-stdin'], 'x')).stdout, /^-pbkdf2-[0-9a-f]{64},[0-9a-f]+,1\n$/)
  assert.equal((await managed.cardea(['hash', 'password'])).code, 2)
  assert.equal((await managed.cardea(['hash', '--form', 'other'])).code, 2)
  assert.equal((await managed.cardea(['hash', '--iterations', '0'])).code, 2)
  assert.equal((await managed.cardea(['hash'])).code, 2)
})
