import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { Agent, get as httpsGet } from 'node:https'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { type CardeaOptions, createCardea, createTestCardea, type LogFields } from '../../src/index.ts'
import { makeFolder } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const fixture = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url)), 'utf8')

const FIRST = { cert: fixture('cert.pem'), key: fixture('key.pem') }
const RENEWED = { cert: fixture('renewed-cert.pem'), key: fixture('renewed-key.pem') }

/** Any of the two is accepted: the tests look at which one it is. */
const CA = [FIRST.cert, RENEWED.cert]

/** With a key of 112 bits of security. */
function createWeak(folder: string): typeof FIRST {
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:secp224r1', '-nodes', '-keyout', 'key.pem']
  const args = ['req', '-x509', ...newKey, '-out', 'cert.pem', '-subj', '/CN=weak']
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  return { cert: read('cert.pem'), key: read('key.pem') }
}

interface Event {
  readonly message: string
  readonly fields: LogFields | undefined
}

/** A server with TLS at both doors, whose certificate files can be replaced. */
async function startServer(t: TestContext, ssl: CardeaOptions['ssl'] = {}) {
  const folder = makeFolder(t)
  const pathOf = (name: string) => join(folder, name)
  const replace = (name: string, text: string) => {
    writeFileSync(pathOf(`${name}.new`), text, { mode: 0o600 })
    renameSync(pathOf(`${name}.new`), pathOf(name))
  }
  const use = ({ cert, key }: typeof FIRST) => {
    replace('cert.pem', cert)
    replace('key.pem', key)
    replace('both.pem', `${cert}${key}`)
  }
  use(FIRST)
  const events: Event[] = []
  const note = (message: string, fields?: LogFields) => void events.push({ message, fields })
  const files = { cert_file: pathOf('cert.pem'), key_file: pathOf('key.pem'), keyfile: pathOf('both.pem') }
  const cardea = await createTestCardea({
    log: { debug: note, info: note, warn: note, error: note },
    options: { ssl: { enable: true, port: 0, ...files, ...ssl }, server: { endpoint: 'ssl://127.0.0.1:0' } },
  })
  t.after(() => cardea.close())
  const { document, multiModel } = await cardea.listen()
  return { cardea, events, replace, use, pathOf, doors: [document[1] ?? '', multiModel[0] ?? ''] as const }
}

/** The name in the certificate that a new connection gets. */
async function findName(url: string, options: ConnectionOptions = {}): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), ca: CA, ...options })
  try {
    await once(socket, 'secureConnect')
    return String(socket.getPeerCertificate().subject.CN)
  } finally {
    socket.destroy()
  }
}

/** Sends a request over the agent's connection. Returns its status and the connection. */
async function ask(url: string, agent: Agent): Promise<{ status: number | undefined; socket: TLSSocket }> {
  const [response] = await once(httpsGet(`${url}/_up`, { agent, ca: CA }), 'response')
  response.resume()
  const { socket } = response
  await once(response, 'end')
  return { status: response.statusCode, socket }
}

const REST = `[server]
endpoint = ssl://127.0.0.1:0
[chttpd]
port = none
[store]
url = sqlite::memory:
[admins]
admin = -pbkdf2-${'00'.repeat(20)},00,10
`

const OLD = 'localhost'
const NEW = 'localhost renewed'

describe('certificates are replaced while the server runs', () => {
  it('on reload: new connections get the new one, an open one keeps working', async (t) => {
    const { cardea, doors, use, events } = await startServer(t)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    const before = await ask(doors[0], agent)
    use(RENEWED)
    const report = await cardea.reload()
    // the reload itself has replaced both: files that are watched are read later
    assert.equal(events.filter(({ fields }) => fields?.['event'] === 'certificate.reloaded').length, 2)
    assert.deepEqual([report.isApplied, report.problems], [true, []])
    for (const door of doors) assert.equal(await findName(door), NEW)
    const after = await ask(doors[0], agent)
    assert.deepEqual([before.status, after.status], [200, 200])
    assert.equal(after.socket, before.socket)
    assert.equal(after.socket.getPeerCertificate().subject.CN, OLD)
  })

  it('when their files change', async (t) => {
    const { doors, use } = await startServer(t)
    for (const door of doors) assert.equal(await findName(door), OLD)
    use(RENEWED)
    for (const door of doors) await waitUntil(async () => (await findName(door)) === NEW)
    use(FIRST)
    for (const door of doors) await waitUntil(async () => (await findName(door)) === OLD)
  })

  it('but not by a bad file: the old one stays, and the log says why', async (t) => {
    const { cardea, doors, replace, use, events } = await startServer(t)
    replace('both.pem', 'half a certif')
    const isReported = () => events.some(({ fields }) => fields?.['event'] === 'reload.failed')
    await waitUntil(isReported)
    const { fields } = events.find(({ fields }) => fields?.['event'] === 'reload.failed') ?? assert.fail()
    assert.match(String(fields?.['reason']), /^ssl\.keyfile: .*both\.pem: the file contains no certificate in PEM$/)
    replace('key.pem', RENEWED.key)
    const report = await cardea.reload()
    assert.equal(report.isApplied, false)
    assert.equal(report.problems.length, 2)
    assert.match(report.problems.join(), /key\.pem: the private key does not belong to the certificate/)
    for (const door of doors) assert.equal(await findName(door), OLD)
    use(RENEWED)
    for (const door of doors) await waitUntil(async () => (await findName(door)) === NEW)
  })

  it('nor by one whose key is too short for the ciphers', async (t) => {
    const { doors, use, events } = await startServer(t, { 'cipher-list': 'DEFAULT@SECLEVEL=3' })
    use(createWeak(makeFolder(t)))
    const isReported = () =>
      events.some(({ fields }) => /the key of the certificate is too short$/.test(String(fields?.['reason'])))
    await waitUntil(isReported)
    for (const door of doors) assert.equal(await findName(door), OLD)
  })

  it('with other options: version, ciphers and files', async (t) => {
    const folder = makeFolder(t)
    const ini = join(folder, 'local.ini')
    const write = (more: string, { cert, key }: typeof FIRST) => {
      const file = join(folder, `${cert === FIRST.cert ? 'first' : 'renewed'}.pem`)
      writeFileSync(file, `${cert}${key}`, { mode: 0o600 })
      writeFileSync(ini, `[ssl]\nkeyfile = ${file}\n${more}${REST}`, { mode: 0o600 })
    }
    write('', FIRST)
    const cardea = await createCardea({ files: [ini] })
    t.after(() => cardea.close())
    const [door = ''] = (await cardea.listen()).multiModel
    assert.equal(await findName(door, { maxVersion: 'TLSv1.2' }), OLD)
    write('min-version = 1.3\n', RENEWED)
    const report = await cardea.reload()
    assert.deepEqual([report.problems, report.needRestart], [[], []])
    assert.equal(await findName(door), NEW)
    await assert.rejects(findName(door, { maxVersion: 'TLSv1.2' }))
    write('cipher-list = ECDHE-ECDSA-AES256-GCM-SHA384\n', RENEWED)
    await cardea.reload()
    const ciphers = 'ECDHE-ECDSA-AES128-GCM-SHA256'
    await assert.rejects(findName(door, { maxVersion: 'TLSv1.2', ciphers }))
    assert.equal(await findName(door, { maxVersion: 'TLSv1.2' }), NEW)
  })
})

describe('the TLS options', () => {
  it('min-version rejects older clients', async (t) => {
    const { doors } = await startServer(t, { 'min-version': '1.3' })
    for (const door of doors) {
      await assert.rejects(findName(door, { maxVersion: 'TLSv1.2' }))
      assert.equal(await findName(door), OLD)
    }
  })

  it('cipher-list without a known cipher prevents the start', async (t) => {
    await assert.rejects(startServer(t, { 'cipher-list': 'NONSENSE' }), {
      name: 'StartError',
      message: 'ssl.cipher-list: NONSENSE: the TLS library knows no cipher of this list',
    })
  })
})
