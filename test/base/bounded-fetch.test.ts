import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isSecureUrl } from '../../src/base/bounded-fetch.ts'

const [REMOTE, LOCAL] = ['https://id.example.com/.well-known/x', 'http://127.0.0.1:8080/.well-known/x']

const ROWS: readonly [url: string, isSecure: boolean, source?: string][] = [
  ['https://id.example.com/keys', true],
  ['HTTPS://id.example.com/keys', true, REMOTE],
  ['http://id.example.com/keys', false],
  ['http://127.0.0.1:8080/keys', true],
  ['http://[::1]/keys', true, LOCAL],
  ['http://localhost/keys', true, LOCAL],
  ['http://localhost/keys', false, REMOTE],
  ['http://127.0.0.1:8080/keys', false, REMOTE],
  ['http://127.0.0.1.example.com/keys', false, LOCAL],
  ['javascript:alert(1)', false],
  ['keys', false],
]

for (const [url, isSecure, source = ''] of ROWS)
  it(`${url} named by ${source || 'the configuration'} is ${isSecure ? 'used' : 'not used'}`, () =>
    assert.equal(isSecureUrl(url, source), isSecure))
