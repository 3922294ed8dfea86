import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  bindAddress,
  cookieDomain,
  endpoints,
  expandPeers,
  origins,
  peers,
  port,
  publicUrl,
  serverUrls,
  storeUrl,
  trustedOrigins,
} from '../../src/config/addresses.ts'
import { digests, handlers, listDigests, requiredClaims, toDigests } from '../../src/config/auth-codecs.ts'
import {
  boolean,
  type Codec,
  headerName,
  headerNames,
  headerValue,
  oneWordOf,
  path,
  seconds,
  secretText,
  size,
  timer,
  whole,
} from '../../src/config/codecs.ts'

interface Rows {
  readonly codec: Codec<unknown>
  /** Texts with the value they mean. */
  readonly good: readonly (readonly [string, unknown])[]
  readonly bad: readonly string[]
}

const level = oneWordOf(['', 'none', 'lax'], { nothing: 'none' })

const CODECS: Readonly<Record<string, Rows>> = {
  'the public URL': {
    codec: publicUrl,
    good: [
      ...['', 'https://db.example.com', 'https://db.example.com/base'].map((url) => [url, url] as const),
      ['http://[::1]:5984/', 'http://[::1]:5984'],
    ],
    bad: [
      'javascript:alert(1)',
      'http://a@b/',
      'http://a:b@c',
      '//db.example.com',
      'db.example.com',
      'ftp://x',
      'https://',
      'https://x/?q',
      'https://x/#f',
      'https://x y',
      'https:\\\\x',
      'https://[x',
    ],
  },
  boolean: {
    codec: boolean,
    good: [
      ...['true', 'on', '1', 'yes'].map((word) => [word, true] as const),
      ...['false', 'off', '0', 'no'].map((word) => [word, false] as const),
    ],
    bad: ['True', 'TRUE', '', ' true', '2', 'constructor'],
  },
  'one of a few words': {
    codec: level,
    good: [
      ['', ''],
      ['none', 'none'],
      ['LAX', 'lax'],
      ['nothing', 'none'],
    ],
    bad: ['strict', 'toString', '__proto__', 'lax '],
  },
  'whole numbers': {
    codec: whole(1, 10),
    good: [
      ['1', 1],
      ['+10', 10],
      ['007', 7],
    ],
    bad: ['0', '11', '1.5', '1e1', '0x1', '', ' 1', '-1', '１', '9'.repeat(400)],
  },
  'seconds above one': {
    codec: seconds(1),
    good: [
      ['1.5', 1.5],
      ['3600', 3600],
      ['2.', 2],
    ],
    bad: ['1', '0', '-2', 'NaN', 'Infinity', '1e3', '', '0x10', '2s'],
  },
  'seconds of a timer, as milliseconds': {
    codec: timer('zero'),
    good: [
      ['0', 0],
      ['10', 10_000],
      ['.05', 50],
      ['2.3', 2300],
      ['2147483', 2_147_483_000],
    ],
    bad: ['2147484', '-1', '1s', ''],
  },
  'seconds with zero': {
    codec: seconds(0, 'zero'),
    good: [
      ['0', 0],
      ['.5', 0.5],
    ],
    bad: ['-0', ''],
  },
  sizes: {
    codec: size(1),
    good: [
      ['8388608', 8_388_608],
      ['64k', 64_000],
      ['64KB', 64_000],
      ['8MiB', 8_388_608],
      ['1gib', 1_073_741_824],
      ['10b', 10],
    ],
    bad: ['0', '', 'k', '1.5k', '10 k', '1kk', '9999999999999t', '1constructor'],
  },
  'header names': {
    codec: headerName(),
    good: [['X-Who', 'X-Who']],
    bad: [
      '',
      'X Who',
      'X:Who',
      'X\r\nY',
      'é',
      'Host',
      'content-type',
      'AUTHORIZATION',
      'Cookie',
      'Accept-Encoding',
      'TE',
    ],
  },
  'optional header names': { codec: headerName('optional'), good: [['', '']], bad: ['a b'] },
  'header lists': {
    codec: headerNames,
    good: [
      ['Accept , X-Me,', ['accept', 'x-me']],
      ['', []],
    ],
    bad: ['a b', 'a;b'],
  },
  'header values': {
    codec: headerValue,
    good: [['Basic realm="x"', 'Basic realm="x"']],
    bad: ['a\r\nSet-Cookie: b', 'é', '\t'],
  },
  secrets: { codec: secretText(4), good: [['ab=;', 'ab=;']], bad: ['abcde', 'ééé'] },
  'hash algorithms': {
    codec: digests,
    good: [
      ['sha256, sha', ['sha256', 'sha']],
      ['sha3_256,blake2b', ['sha3_256', 'blake2b']],
      ['md5', ['md5']],
      ['sha256, md4', ['sha256', 'md4']],
    ],
    bad: ['', 'sha1', 'SHA256', 'whirlpool9', 'sha256 sha', 'constructor'],
  },
  paths: {
    codec: path,
    good: [
      ['', ''],
      ['a/b', 'a/b'],
    ],
    bad: ['a\0b', 'a\nb'],
  },
  ports: {
    codec: port,
    good: [
      ['0', 0],
      ['65535', 65535],
      ['none', 'none'],
    ],
    bad: ['65536', '-1', '', 'None', '80 ', '0x50'],
  },
  'addresses to listen on': {
    codec: bindAddress,
    good: [
      ['127.0.0.1', '127.0.0.1'],
      ['[::1]', '::1'],
      ['::', '::'],
      ['any', 'any'],
      ['LocalHost', 'localhost'],
    ],
    bad: ['', 'x', 'db.example', '1.2.3', '300.1.1.1', 'a b', '[127.0.0.1]', '[::1', 'a/b', '-a'],
  },
  endpoints: {
    codec: endpoints,
    good: [
      ['tcp://127.0.0.1:8529', [{ kind: 'tcp', host: '127.0.0.1', port: 8529 }]],
      ['http://localhost', [{ kind: 'tcp', host: '127.0.0.1', port: 8529 }]],
      ['HTTP+SSL://[::1]:0/', [{ kind: 'ssl', host: '::1', port: 0 }]],
      ['https://db.example:443', [{ kind: 'ssl', host: 'db.example', port: 443 }]],
      ['tcp://[fe80::1%eth0]:1', [{ kind: 'tcp', host: 'fe80::1%eth0', port: 1 }]],
      ['http+unix:///run/Cardea.sock', [{ kind: 'unix', path: '/run/Cardea.sock' }]],
      [
        'tcp://a:1, unix:///b',
        [
          { kind: 'tcp', host: 'a', port: 1 },
          { kind: 'unix', path: '/b' },
        ],
      ],
      ['none', []],
    ],
    bad: [
      '',
      'tcp://',
      'tcp://:1',
      'tcp://a:65536',
      'tcp://a:',
      'udp://a:1',
      'a:1',
      'tcp://a:1, none',
      'unix://x',
      'unix:///',
      'tcp://::1:1',
      'tcp://a/b',
    ],
  },
  peers: {
    codec: peers,
    good: [
      ['loopback', ['loopback']],
      ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1/128']],
      ['192.168.1.1', ['192.168.1.1/32']],
      ['none', []],
    ],
    bad: [
      '10.0.0.0/33',
      '::/129',
      '10.0.0/8',
      'localhost',
      '10.0.0.0/8/8',
      '10.0.0.0/',
      'fe80::1%eth0',
      'loopback, none',
      '10.0.0.0/-1',
    ],
  },
  'servers behind a door': {
    codec: serverUrls,
    good: [
      ['http://127.0.0.1:5984', ['http://127.0.0.1:5984']],
      ['https://a/, http://b:1', ['https://a', 'http://b:1']],
      ['', []],
    ],
    bad: [
      'ftp://a',
      'http://u:p@a',
      'http://a/path',
      'http://a?x',
      'http://a#x',
      'a:1',
      'http://',
      'http://a?',
      'http://@a',
    ],
  },
  origins: {
    codec: origins,
    good: [
      ['*', ['*']],
      ['https://app.example, capacitor://localhost', ['https://app.example', 'capacitor://localhost']],
    ],
    bad: ['app.example', 'https://app.example/', 'https://a b', 'https://u@a'],
  },
  'trusted origins': {
    codec: trustedOrigins,
    good: [
      ['all', ['*']],
      ['https://a/, http://b', ['https://a', 'http://b']],
      ['none', []],
      ['', []],
    ],
    bad: ['https://a//', 'a'],
  },
  'cookie domains': {
    codec: cookieDomain,
    good: [
      ['', ''],
      ['.example.com', '.example.com'],
    ],
    bad: ['example.com; Secure', 'a b', 'a..b', 'a\r\nb', 'a,b'],
  },
  'store URLs': {
    codec: storeUrl,
    good: [
      ['sqlite::memory:', 'sqlite::memory:'],
      ['sqlite:data/x.db', 'sqlite:data/x.db'],
      ['postgres://u:p@h/db', 'postgres://u:p@h/db'],
    ],
    bad: ['', 'sqlite:', 'mysql://x', 'data.db', 'postgres:x'],
  },
  'required claims': {
    codec: requiredClaims,
    good: [
      ['exp', [{ name: 'exp' }]],
      ['exp, {iss, "https://issuer.example"}', [{ name: 'exp' }, { name: 'iss', value: 'https://issuer.example' }]],
      ['{iss,"a, b"},aud', [{ name: 'iss', value: 'a, b' }, { name: 'aud' }]],
      ['', []],
    ],
    bad: ['{iss}', '{iss, "x"', 'exp nbf', '{iss, x}', '?', ', exp'],
  },
  handlers: {
    codec: handlers,
    good: [
      ['cookie, default', ['cookie', 'default']],
      [
        '{chttpd_auth, cookie_authentication_handler}, {chttpd_auth,default_authentication_handler}',
        ['cookie', 'default'],
      ],
    ],
    bad: ['', 'cookie, cookie', 'basic', '{couch_httpd_auth, null_authentication_handler}', 'cookie,', 'null'],
  },
}

for (const [name, { codec, good, bad }] of Object.entries(CODECS)) {
  test(name, () => {
    for (const [text, value] of good) {
      assert.deepEqual(codec.parse(text), value, JSON.stringify(text))
      assert.deepEqual(
        codec.parse(codec.print(codec.parse(text))),
        value,
        `${JSON.stringify(text)} printed and read again`,
      )
    }
    for (const text of bad) assert.throws(() => codec.parse(text), RangeError, JSON.stringify(text))
  })
}

test('freezes lists', () => {
  const lists: readonly (readonly [Codec<readonly unknown[]>, string])[] = [
    [digests, 'sha'],
    [endpoints, 'tcp://a:1'],
    [peers, 'loopback'],
    [requiredClaims, 'exp'],
    [handlers, 'cookie'],
    [origins, '*'],
    [trustedOrigins, 'none'],
  ]
  for (const [codec, text] of lists) assert.ok(Object.isFrozen(codec.parse(text)), text)
})

test('makes paths and store URLs absolute, once', () => {
  assert.equal(path.resolve?.('keys/a', '/etc/cardea'), '/etc/cardea/keys/a')
  assert.equal(path.resolve?.('/keys/a', '/etc/cardea'), '/keys/a')
  assert.equal(path.resolve?.('', '/etc/cardea'), '')
  assert.equal(storeUrl.resolve?.('sqlite:data/x.db', '/srv'), 'sqlite:/srv/data/x.db')
  assert.equal(storeUrl.resolve?.('sqlite::memory:', '/srv'), 'sqlite::memory:')
  assert.equal(storeUrl.resolve?.('postgres://h/db', '/srv'), 'postgres://h/db')
})

test('warns about weak hashes and ranges that trust every address', () => {
  assert.match(digests.warn?.(['sha256', 'md5']) ?? '', /md5/)
  assert.equal(digests.warn?.(['sha256', 'md4', 'md5']), 'md4: not available on this machine; skipped; md5: weak')
  assert.equal(digests.warn?.(['sha256']), undefined)
  assert.match(peers.warn?.(['0.0.0.0/0']) ?? '', /trusts every address/)
  assert.equal(peers.warn?.(['10.0.0.0/8']), undefined)
})

test('rejects an unavailable algorithm in first place, which signs', () => {
  assert.throws(() => digests.parse('md4, sha256'), /a first algorithm \(it signs\) .*; md4 is not/)
  assert.deepEqual(toDigests(digests.parse('sha256, md4, sha')), ['sha256', 'sha1'])
  assert.ok(!listDigests().includes('md4') && listDigests().includes('sha3_256'))
})

test('maps digests to the names of node:crypto, and never to an empty list', () => {
  assert.deepEqual(toDigests(['sha', 'sha3_256']), ['sha1', 'sha3-256'])
  assert.deepEqual(toDigests(['no-such-hash']), ['sha256'])
})

test('expands loopback to its ranges and Unix sockets', () => {
  assert.deepEqual(expandPeers(['loopback', '10.0.0.0/8']), {
    hasUnix: true,
    ranges: [
      { family: 'ipv4', address: '127.0.0.0', prefix: 8 },
      { family: 'ipv6', address: '::1', prefix: 128 },
      { family: 'ipv4', address: '10.0.0.0', prefix: 8 },
    ],
  })
  assert.equal(expandPeers(['10.0.0.0/8']).hasUnix, false)
})
