// Runs Debian's nginx with the configuration docs/gateway.md gives, before a small application, and checks who gets
// through it and what the application is told.
//   node scripts/nginx.mjs
import { spawn, spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createTestCardea, TEST_ADMINISTRATOR } from '../src/index.ts'

const PAGE = new URL('../docs/gateway.md', import.meta.url)
const KEY = 'a-key-of-the-nginx-script-for-tokens'
const MOST_WAITING_MS = 5000

/** The text of the page, with the addresses of this run. */
function readDocumented(gate, application) {
  const [, text] = /^```nginx\n(.*?)^```$/ms.exec(readFileSync(PAGE, 'utf8')) ?? []
  if (text === undefined) throw new Error('docs/gateway.md has no block of nginx')
  const placed = text.replaceAll('127.0.0.1:5984', gate).replaceAll('127.0.0.1:3000', application)
  if (!placed.includes(gate) || !placed.includes(application))
    throw new Error('its addresses are not the expected ones')
  return placed
}

/** Everything nginx writes stays in its folder. */
const renderConfiguration = (folder, port, locations) => `
daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr warn;
events {}
http {
    access_log off;
    client_body_temp_path ${folder}/body;
    proxy_temp_path ${folder}/proxy;
    fastcgi_temp_path ${folder}/fastcgi;
    uwsgi_temp_path ${folder}/uwsgi;
    scgi_temp_path ${folder}/scgi;
    server {
        listen 127.0.0.1:${port};
${locations}
    }
}
`

async function listen(server) {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address().port
}

async function findFreePort() {
  const server = createTcpServer()
  const port = await listen(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

const isOpen = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

async function startNginx(gate, application) {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-nginx-'))
  const port = await findFreePort()
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, renderConfiguration(folder, port, readDocumented(gate, application)))
  const child = spawn(NGINX, ['-p', folder, '-c', file, '-e', 'stderr'], { stdio: ['ignore', 'inherit', 'inherit'] })
  const ended = once(child, 'close')
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const deadline = Date.now() + MOST_WAITING_MS
  while (!(await isOpen(port))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      await stop()
      throw new Error('nginx did not start')
    }
    await pause(20)
  }
  return { base: `http://127.0.0.1:${port}`, stop }
}

/** Answers with what it was told. */
function openApplication() {
  return createServer((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers, rawHeaders } = request
      response.end(JSON.stringify({ method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString() }))
    })
  })
}

// --- credentials

const ADA = { name: 'ada', password: 'pw' }
const JSON_TYPE = { 'Content-Type': 'application/json' }
const basic = ({ name, password }) => ({
  Authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})

async function addUser(document) {
  const { status } = await fetch(`${document}/_users/org.couchdb.user:ada`, {
    method: 'PUT',
    headers: { ...basic(TEST_ADMINISTRATOR), ...JSON_TYPE },
    body: JSON.stringify({ ...ADA, roles: ['reader', 'writer'], type: 'user' }),
  })
  if (status !== 201) throw new Error(`the user was not made: ${status}`)
}

async function getCookie(document) {
  const answer = await fetch(`${document}/_session`, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(ADA) })
  return { Cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '' }
}

function signToken() {
  const [head, claims] = [
    { alg: 'HS256', typ: 'JWT' },
    { sub: ADA.name, '_couchdb.roles': ['reader', 'writer'], exp: Math.floor(Date.now() / 1000) + 60 },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  const signature = createHmac('sha256', KEY).update(`${head}.${claims}`).digest('base64url')
  return { Authorization: `Bearer ${head}.${claims}.${signature}` }
}

async function getToken(multiModel) {
  const body = JSON.stringify({ username: ADA.name, password: ADA.password })
  const answer = await fetch(`${multiModel}/_open/auth`, { method: 'POST', headers: JSON_TYPE, body })
  return { Authorization: `bearer ${(await answer.json()).jwt}` }
}

const SPOOFED = {
  'X-Auth-User': 'evil',
  'x-auth-roles': 'evil',
  'X-Auth-Token': 'evil',
  X_Auth_User: 'evil',
  'X-Auth_Roles': 'evil',
  'X.Auth.User': 'evil',
  'X-Auth-CouchDB-UserName': 'admin',
  'X-Auth-CouchDB-Roles': '_admin',
  Forwarded: 'for=192.0.2.1',
}

// --- what is checked

const isRefused = ({ status, challenge }) => status === 401 && challenge.startsWith('Basic ')

const isAda = ({ status, told }) =>
  status === 200 &&
  told.headers['x-auth-user'] === 'ada' &&
  told.headers['x-auth-roles'] === 'reader,writer' &&
  told.headers['x-auth-token']?.split('.').length === 3 &&
  told.headers.authorization === undefined &&
  !told.rawHeaders.includes('evil')

const isPosted = (answer) => isAda(answer) && answer.told.method === 'POST' && answer.told.body === 'a body'

async function listRows({ document, multiModel }) {
  const own = basic(ADA)
  const post = { method: 'POST', body: 'a body' }
  const common = [
    ['nothing', {}, isRefused],
    ['a wrong password', { headers: basic({ ...ADA, password: 'wrong' }) }, isRefused],
    ['headers that claim to be somebody', { headers: SPOOFED }, isRefused],
    ['a rubbish token', { headers: { Authorization: 'Bearer x.y.z' } }, isRefused],
    ['the gate itself, from outside', { path: '/_gate', headers: own }, ({ status }) => status === 404],
    ['Basic', { headers: own }, isAda],
    ['Basic with headers that claim to be somebody else', { headers: { ...SPOOFED, ...own } }, isAda],
    ['a body', { ...post, headers: own }, isPosted],
    ['a body in pieces', { ...post, isChunked: true, headers: own }, isPosted],
  ]
  return [
    ...common.map((row) => [document, ...row]),
    [document, 'a cookie', { headers: await getCookie(document) }, isAda],
    [document, 'a cookie that is none', { headers: { Cookie: 'AuthSession=rubbish' } }, isRefused],
    [document, 'a token', { headers: signToken() }, isAda],
    ...common.map((row) => [multiModel, ...row]),
    [multiModel, 'a token', { headers: await getToken(multiModel) }, isAda],
  ]
}

async function ask(base, { path = '/reports?x=1', isChunked = false, body, ...given }) {
  const sent = isChunked ? { body: new Blob([body]).stream(), duplex: 'half' } : { body }
  const answer = await fetch(base + path, { ...given, ...sent })
  const text = await answer.text()
  const told = answer.status === 200 ? JSON.parse(text) : undefined
  return { status: answer.status, challenge: answer.headers.get('www-authenticate') ?? '', told }
}

async function checkDoor(name, gate, rows, application) {
  const nginx = await startNginx(new URL(gate).host, application)
  let failures = 0
  try {
    for (const [, title, sent, isRight] of rows.filter(([door]) => door === gate)) {
      const answer = await ask(nginx.base, sent)
      const isOk = isRight(answer)
      if (!isOk) failures += 1
      const user = answer.told?.headers['x-auth-user']
      console.log(`${isOk ? 'ok    ' : 'WRONG '} ${name}: ${title} → ${answer.status}${user ? `, ${user}` : ''}`)
      if (!isOk) console.log(JSON.stringify(answer, null, 2))
    }
  } finally {
    await nginx.stop()
  }
  return failures
}

async function run() {
  const application = openApplication()
  const port = await listen(application)
  const options = {
    // the laxest there is: every proxy that is trusted may say who somebody is
    chttpd_auth: { proxy_use_secret: false },
    jwt_keys: { 'hmac:_default': Buffer.from(KEY).toString('base64') },
  }
  const cardea = await createTestCardea({ options })
  try {
    const { document, multiModel } = await cardea.listen()
    await addUser(document[0])
    const rows = await listRows({ document: document[0], multiModel: multiModel[0] })
    const at = `127.0.0.1:${port}`
    const failures =
      (await checkDoor('document', document[0], rows, at)) + (await checkDoor('multi-model', multiModel[0], rows, at))
    console.log(failures === 0 ? 'nginx does as the page says' : `${failures} checks failed`)
    process.exitCode = failures === 0 ? 0 : 1
  } finally {
    application.close()
    application.closeAllConnections()
    await cardea.close()
  }
}

const NGINX = ['nginx', '/usr/sbin/nginx'].find((file) => spawnSync(file, ['-v']).status === 0)

if (NGINX === undefined) {
  console.error('There is no nginx here. On Debian: apt-get install -y nginx-light')
  process.exitCode = 1
} else await run()
