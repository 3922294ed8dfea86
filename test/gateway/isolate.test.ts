import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isolate } from '../../src/gateway/response-headers.ts'
import type { HeaderPair } from '../../src/http/request-context.ts'

const POLICY = 'content-security-policy'

const isSandboxed = (headers: readonly HeaderPair[], status = 200): boolean =>
  isolate(headers, status).some(([name, value]) => name.toLowerCase() === POLICY && value === 'sandbox')

for (const type of [
  'text/html',
  'Text/HTML; charset=utf-8',
  'application/xhtml+xml',
  'image/svg+xml',
  'text/xml',
  'application/xml',
  'application/atom+xml',
  'text/xsl',
  'text/rdf',
  'multipart/x-mixed-replace; boundary=x',
  'unknown/unknown',
  'application/unknown',
  'application/x-unknown-content-type',
  '*/*',
  'html',
  '',
  'application/json, text/html',
])
  test(`a page is sandboxed: ${type || 'an empty type'}`, () =>
    assert.equal(isSandboxed([['Content-Type', type]]), true))

test('a response without a type is sandboxed, because browsers sniff the content', () =>
  assert.equal(isSandboxed([]), true))

for (const type of [
  'application/json',
  'text/plain; charset=utf-8',
  'image/png',
  'application/octet-stream',
  'text/css',
])
  test(`other types are unchanged: ${type}`, () => {
    const headers: readonly HeaderPair[] = [['Content-Type', type]]
    assert.deepEqual(isolate(headers, 200), headers)
  })

for (const status of [204, 304])
  test(`a response ${status} has no page`, () => assert.equal(isSandboxed([], status), false))

for (const status of [206, 304]) {
  const own: HeaderPair = ['Content-Security-Policy', 'default-src *']
  test(`a policy in a response ${status}, which replaces that of a cached page, gets the sandbox beside it`, () => {
    assert.deepEqual(isolate([own], status), [['Content-Security-Policy', 'sandbox'], own])
    assert.equal(isSandboxed([['Content-Type', 'text/plain'], own], status), true)
  })
  test(`a response ${status} that says it is a page is sandboxed`, () =>
    assert.equal(isSandboxed([['Content-Type', 'text/html']], status), true))
}

const withPolicy = (policy: string): readonly HeaderPair[] => [
  ['Content-Type', 'text/html'],
  ['Content-Security-Policy', policy],
]

for (const policy of [
  'sandbox',
  ' SANDBOX ;',
  "default-src 'self'; sandbox",
  "frame-ancestors 'self', sandbox; img-src *",
])
  test(`a page with an equally strict sandbox keeps its policy: ${policy}`, () =>
    assert.deepEqual(isolate(withPolicy(policy), 200), withPolicy(policy)))

for (const policy of [
  "default-src * 'unsafe-inline'",
  "default-src 'self'",
  "frame-ancestors 'self'; script-src 'none'",
  'sandbox allow-scripts allow-same-origin',
  'SANDBOX allow-scripts',
  'sandbox allow-scripts; sandbox',
  'sandbox\u00a0',
  "frame-ancestors 'self'; form-action 'self';",
  '',
  'sandboxed',
])
  test(`any other policy gets the sandbox as a second one: ${policy}`, () =>
    assert.deepEqual(isolate(withPolicy(policy), 200), [['Content-Security-Policy', 'sandbox'], ...withPolicy(policy)]))

test('a report-only policy does not count', () => {
  const headers: readonly HeaderPair[] = [
    ['Content-Type', 'text/html'],
    ['Content-Security-Policy-Report-Only', 'sandbox'],
  ]
  assert.equal(isSandboxed(headers), true)
})

test('headers that give a page access beyond its path are removed', () => {
  const headers: readonly HeaderPair[] = [
    ['Content-Type', 'text/javascript'],
    ['SERVICE-WORKER-ALLOWED', '/'],
    ['Cross-Origin-Opener-Policy', 'same-origin'],
  ]
  assert.deepEqual(isolate(headers, 200), [['Content-Type', 'text/javascript']])
})
