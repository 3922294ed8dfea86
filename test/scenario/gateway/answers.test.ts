import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { sendRaw } from '../../support/raw.ts'
import { startServer } from '../../support/server.ts'
import { beforeDocument } from '../../support/upstream.ts'

/** What the server behind does with each request. */
let respond: (socket: Socket) => void = () => {}

const sockets = new Set<Socket>()
const server = createServer((socket) => {
  sockets.add(socket)
  socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  socket.on('data', () => respond(socket))
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
after(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})
const front = await startServer({ after }, beforeDocument(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
const port = Number(new URL(front.document).port)

/** All the client receives for an answer of these bytes, one character a byte. */
async function pass(bytes: string | ((socket: Socket) => void), method = 'GET', version = '1.1'): Promise<string> {
  respond = typeof bytes === 'string' ? (socket) => socket.write(Buffer.from(bytes, 'latin1')) : bytes
  const head = `${method} /db/doc HTTP/${version}\r\nHost: a\r\nConnection: close\r\n\r\n`
  return (await sendRaw(port, head, { untilClosed: true })).text
}

const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 6\r\n\r\n'

const STRAY: readonly (readonly [name: string, bytes: string, method: string, version: string, end: string])[] = [
  ['with a length', 'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nContent-Length: 3\r\n\r\nabc', 'GET', '1.1', 'abc'],
  ['of a length before it', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTRAILER: X-Sum\r\n\r\nabc', 'GET', '1.1', 'abc'],
  ['to HEAD', 'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n', 'HEAD', '1.1', '\r\n\r\n'],
  ['of 304', 'HTTP/1.1 304 Not Modified\r\nTrailer: X-Sum\r\n\r\n', 'GET', '1.1', '\r\n\r\n'],
  ['of 204', 'HTTP/1.1 204 No Content\r\nTrailer: X-Sum\r\n\r\n', 'GET', '1.1', '\r\n\r\n'],
  ['to a client of HTTP/1.0', `HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\n${CHUNKED}`, 'GET', '1.0', '\r\n\r\nabc'],
]

for (const [name, bytes, method, version, end] of STRAY)
  test(`a response ${name} with a Trailer header is forwarded without it`, async () => {
    const text = await pass(bytes, method, version)
    assert.ok(text.startsWith(bytes.slice(0, 12)), text)
    assert.ok(text.endsWith(end), text)
    assert.doesNotMatch(text, /^(trailer|x-sum):/im)
  })

for (const [name, gap] of [
  ['at once', ''],
  ['behind the rest', '|'],
] as const)
  test(`trailers sent ${name} are forwarded unchanged with their Trailer header`, async () => {
    const head = 'HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'
    const [first = '', second] = `${head}${gap}0\r\nX-Sum: caf\xe9\r\nx-sum: \xc3\xa9\r\n\r\n`.split('|')
    const text = await pass((socket) => {
      // without a name for it, Node would write the letters of these bytes in UTF-8
      socket.write(first, 'latin1')
      if (second !== undefined) setImmediate(() => socket.write(second, 'latin1'))
    })
    assert.match(text, /^Trailer: X-Sum\r$/m)
    assert.ok(text.endsWith('3\r\nabc\r\n0\r\nX-Sum: caf\xe9\r\nx-sum: \xc3\xa9\r\n\r\n'), text)
  })

test('a header that is removed is removed from the trailers too', async () => {
  const lines = [
    'Set-Cookie: AuthSession=stolen',
    'set-cookie: app=1',
    'Access-Control-Allow-Origin: *',
    'Connection: x-named',
    'X-Named: 1',
    'Keep-Alive: timeout=5',
    'Content-Type: text/html',
    'Content-Encoding: gzip',
    'Transfer-Encoding: chunked',
    'Trailer: X-More',
    'Host: evil.example',
    'Location: https://evil.example/',
    'Authorization: Basic eDp5',
    'WWW-Authenticate: Basic',
    'Proxy-Authenticate: Basic',
    'X-Forwarded-For: 1.2.3.4',
    'Cache-Control: public',
    'X-Sum: 6',
  ]
  const text = await pass(
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n${lines.join('\r\n')}\r\n\r\n`,
  )
  assert.ok(text.endsWith('3\r\nabc\r\n0\r\nX-Sum: 6\r\n\r\n'), text)
})

const ANNOUNCED: readonly (readonly [received: readonly string[], forwarded: readonly string[]])[] = [
  [['X-Sum, Set-Cookie,X-Other'], ['X-Sum, X-Other']],
  [[' , x-sum,, content-type '], ['x-sum']],
  [['X-Sum, X Sum, "x", Trailer'], ['X-Sum']],
  [
    ['X-Sum, Set-Cookie', 'X-Other'],
    ['X-Sum', 'X-Other'],
  ],
  [['Set-Cookie, Access-Control-Allow-Origin'], []],
  [[','], []],
]

for (const [received, forwarded] of ANNOUNCED)
  test(`of the announced trailers ${JSON.stringify(received)}, ${JSON.stringify(forwarded)} are announced to the client`, async () => {
    const lines = received.map((names) => `Trailer: ${names}\r\n`).join('')
    const text = await pass(
      `HTTP/1.1 200 OK\r\n${lines}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 6\r\n\r\n`,
    )
    assert.match(text, /^HTTP\/1\.1 200 OK\r\n/)
    const announced = [...text.matchAll(/^trailer: (.*)\r$/gim)].map(([, names]) => names)
    assert.deepEqual(announced, forwarded)
  })

const FOREIGN = ['gzip, chunked', 'gzip', 'chunked, gzip', 'identity', 'gzip\r\nTransfer-Encoding: chunked']

for (const coding of FOREIGN)
  test(`a response with transfer coding ${JSON.stringify(coding)} is 502`, async () => {
    const text = await pass(`HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n3\r\nabc\r\n0\r\n\r\n`)
    assert.match(text, /^HTTP\/1\.1 502 Bad Gateway\r\n/)
  })

const REASONS: readonly (readonly [came: string, goes: string])[] = [
  ['200 OK', '200 OK'],
  ['200 Fine', '200 Fine'],
  ['205 Reset', '205 Reset'],
  ['412 Conflict of the day', '412 Conflict of the day'],
  ['999 Weird', '999 Weird'],
  ['404', '404 Not Found'],
  ['404 caf\xe9', '404 Not Found'],
]

for (const [came, goes] of REASONS)
  test(`a status line ${JSON.stringify(came)} is forwarded as ${goes}`, async () => {
    const text = await pass(`HTTP/1.1 ${came}\r\nContent-Length: 0\r\n\r\n`)
    assert.equal(text.slice(0, text.indexOf('\r\n')), `HTTP/1.1 ${goes}`)
  })

test('1xx responses are not forwarded', async () => {
  const early = 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n'
  const text = await pass(`${early}HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc`)
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  assert.doesNotMatch(text, /link/i)
})

for (const name of ['caf\xc3\xa9.txt', '\xe6\x97\xa5.txt', 'caf\xe9.txt'])
  test(`header values keep their bytes: ${JSON.stringify(name)}`, async () => {
    const line = `Content-Disposition: attachment; filename="${name}"`
    const text = await pass(`HTTP/1.1 200 OK\r\nContent-Length: 3\r\n${line}\r\n\r\nabc`)
    assert.ok(text.includes(`\r\n${line}\r\n`), text)
  })

interface Heard {
  readonly text: string
  /** With a reset, or as connections end. */
  readonly isReset: boolean
}

/** Asks for something, and calls back with each piece that arrives. */
function hear(version: string, onPiece: (text: string) => void): Promise<Heard> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    let isReset = false
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      onPiece(text)
    })
    socket.on('error', () => {
      isReset = true
    })
    socket.on('close', () => resolve({ text, isReset }))
    socket.write(`GET /db/doc HTTP/${version}\r\nHost: a\r\nConnection: close\r\n\r\n`)
  })
}

const UNFRAMED = 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc'
const FRAMED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'

const ENDS: readonly (readonly [
  name: string,
  bytes: string,
  how: 'end' | 'resetAndDestroy',
  version: string,
  heard: { readonly isWhole: boolean; readonly isReset: boolean },
])[] = [
  ['closes', UNFRAMED, 'end', '1.1', { isWhole: true, isReset: false }],
  ['closes', UNFRAMED, 'end', '1.0', { isWhole: true, isReset: false }],
  ['is reset', UNFRAMED, 'resetAndDestroy', '1.1', { isWhole: false, isReset: false }],
  ['is reset', UNFRAMED, 'resetAndDestroy', '1.0', { isWhole: false, isReset: true }],
  ['closes within chunks', FRAMED, 'end', '1.1', { isWhole: false, isReset: false }],
  ['closes within chunks', FRAMED, 'end', '1.0', { isWhole: false, isReset: true }],
]

for (const [name, bytes, how, version, expected] of ENDS)
  test(`an upstream that ${name} ${expected.isWhole ? 'ends' : 'breaks'} the response to HTTP/${version}`, async () => {
    let behind: Socket | undefined
    respond = (socket) => {
      behind = socket
      socket.write(bytes)
    }
    const { text, isReset } = await hear(version, (soFar) => {
      if (soFar.includes('abc')) behind?.[how]()
    })
    const isWhole = version === '1.0' ? !isReset : text.endsWith('0\r\n\r\n')
    assert.deepEqual({ isWhole, isReset }, expected, text)
  })

test('a broken response stays broken for a client that reads slowly', async () => {
  const piece = Buffer.alloc(1 << 22, 'x')
  for (const [how, isWhole] of [
    ['end', true],
    ['resetAndDestroy', false],
  ] as const) {
    respond = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n')
      socket.write(piece, () => socket[how]())
      client.resume()
    }
    let last = ''
    const client = connect(port, '127.0.0.1').pause()
    client.write('GET /db/doc HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    client
      .on('error', () => {})
      .on('data', (chunk) => {
        last = (last + chunk.toString('latin1')).slice(-5)
      })
    await once(client, 'close')
    assert.equal(last === '0\r\n\r\n', isWhole, how)
  }
})
