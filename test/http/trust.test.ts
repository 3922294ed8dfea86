import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { BlockList } from 'node:net'
import { test } from 'node:test'
import { readClient, type TrustRules } from '../../src/http/trust.ts'

const trusted = new BlockList()
trusted.addSubnet('127.0.0.0', 8)
trusted.addSubnet('10.0.0.0', 8)
trusted.addAddress('::1', 'ipv6')

const RULES: TrustRules = {
  trusted,
  trustsUnixSockets: true,
  family: 'auto',
  hostHeader: 'x-forwarded-host',
  protoHeader: 'x-forwarded-proto',
  sslHeader: 'x-forwarded-ssl',
  peerHeader: '',
}

interface Row {
  readonly name: string
  readonly peer?: string | undefined
  readonly headers?: Record<string, string>
  readonly rules?: Partial<TrustRules>
  readonly expect: Record<string, unknown>
}

const ROWS: Row[] = [
  {
    name: 'no proxy header: the peer is the client',
    expect: { address: '127.0.0.1', scheme: 'http', host: 'here', isTrusted: true },
  },
  {
    name: 'headers of an untrusted peer are ignored',
    peer: '192.0.2.1',
    headers: {
      'x-forwarded-for': '1.2.3.4',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'evil',
      forwarded: 'for=1.2.3.4',
    },
    expect: { address: '192.0.2.1', scheme: 'http', host: 'here', isTrusted: false },
  },
  {
    name: 'the last address that is no proxy of ours',
    headers: { 'x-forwarded-for': '6.6.6.6, 203.0.113.7, 10.1.1.1' },
    expect: { address: '203.0.113.7' },
  },
  {
    name: 'all are proxies: the first',
    headers: { 'x-forwarded-for': '10.0.0.9, 10.1.1.1' },
    expect: { address: '10.0.0.9' },
  },
  {
    name: 'nothing behind a text that is no address',
    headers: { 'x-forwarded-for': '203.0.113.7, unknown, 10.1.1.1' },
    expect: { address: '10.1.1.1' },
  },
  {
    name: 'an address with a port',
    headers: { 'x-forwarded-for': '203.0.113.7:4711' },
    expect: { address: '203.0.113.7' },
  },
  {
    name: 'an IPv6 address with a port',
    headers: { 'x-forwarded-for': '[2001:db8::1]:4711' },
    expect: { address: '2001:db8::1' },
  },
  {
    name: 'an IPv4 address in IPv6 clothes is the same peer',
    peer: '::ffff:127.0.0.1',
    headers: { 'x-forwarded-for': '203.0.113.7' },
    expect: { address: '203.0.113.7', isTrusted: true },
  },
  { name: 'the scheme', headers: { 'x-forwarded-proto': 'https' }, expect: { scheme: 'https' } },
  {
    name: 'of several schemes the nearest',
    headers: { 'x-forwarded-proto': 'https, http' },
    expect: { scheme: 'http' },
  },
  { name: 'an unknown scheme', headers: { 'x-forwarded-proto': 'gopher' }, expect: { scheme: 'http' } },
  { name: 'ssl on', headers: { 'x-forwarded-ssl': 'on' }, expect: { scheme: 'https' } },
  { name: 'the host', headers: { 'x-forwarded-host': 'a.example, b.example' }, expect: { host: 'b.example' } },
  {
    name: 'the standard header',
    headers: { forwarded: 'for=6.6.6.6, for="[2001:db8::2]:80";proto=https;host="db.example"' },
    expect: { address: '2001:db8::2', scheme: 'https', host: 'db.example' },
  },
  {
    name: 'X-Forwarded headers win over the standard one, which a proxy may pass through',
    headers: { 'x-forwarded-for': '203.0.113.7', forwarded: 'for=6.6.6.6' },
    expect: { address: '203.0.113.7' },
  },
  {
    name: 'pinned to the standard header',
    rules: { family: 'forwarded' },
    headers: { 'x-forwarded-for': '6.6.6.6', forwarded: 'for=203.0.113.7' },
    expect: { address: '203.0.113.7' },
  },
  {
    name: 'pinned to X-Forwarded',
    rules: { family: 'x-forwarded' },
    headers: { forwarded: 'for=6.6.6.6' },
    expect: { address: '127.0.0.1' },
  },
  {
    name: 'a header of its own for the peer',
    rules: { peerHeader: 'x-real-ip' },
    headers: { 'x-real-ip': '203.0.113.9', 'x-forwarded-for': '6.6.6.6' },
    expect: { address: '203.0.113.9' },
  },
  {
    name: 'a peer header that is no address',
    rules: { peerHeader: 'x-real-ip' },
    headers: { 'x-real-ip': 'me' },
    expect: { address: '127.0.0.1' },
  },
  {
    name: 'a Unix socket',
    peer: undefined,
    headers: { 'x-forwarded-for': '203.0.113.7' },
    expect: { address: '203.0.113.7', isUnixSocket: true },
  },
  {
    name: 'an untrusted Unix socket',
    peer: undefined,
    rules: { trustsUnixSockets: false },
    headers: { 'x-forwarded-for': '203.0.113.7' },
    expect: { address: '', isUnixSocket: true },
  },
]

for (const row of ROWS) {
  test(row.name, () => {
    const socket = { remoteAddress: 'peer' in row ? row.peer : '127.0.0.1' }
    const request = { socket, headers: { host: 'here', ...row.headers } } as unknown as IncomingMessage // the part that is read
    const client = readClient(request, { ...RULES, ...row.rules })
    for (const [key, value] of Object.entries(row.expect)) assert.equal(client[key as keyof typeof client], value, key)
  })
}
