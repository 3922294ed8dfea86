import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUntrustedSimpleChange } from '../../src/base/cross-site.ts'

interface Row {
  readonly name: string
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly origins?: readonly string[]
  readonly isRefused: boolean
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const EVIL = { origin: 'https://evil.example' }

const ROWS: readonly Row[] = [
  { name: 'a program without Origin', headers: FORM, isRefused: false },
  { name: 'a form of another origin', headers: { ...FORM, ...EVIL }, isRefused: true },
  {
    name: 'a form with parameters in its type',
    headers: { ...EVIL, 'content-type': 'Text/Plain; charset=utf-8' },
    isRefused: true,
  },
  { name: 'a body without a type', headers: EVIL, isRefused: true },
  {
    name: 'a form with files',
    headers: { ...EVIL, 'content-type': 'multipart/form-data; boundary=x' },
    isRefused: true,
  },
  { name: 'JSON needs a preflight', headers: { ...EVIL, 'content-type': 'application/json' }, isRefused: false },
  { name: 'PUT needs a preflight', method: 'PUT', headers: { ...FORM, ...EVIL }, isRefused: false },
  { name: 'GET changes nothing', method: 'GET', headers: EVIL, isRefused: false },
  { name: 'a form of this origin', headers: { ...FORM, origin: 'https://Door.example:5984' }, isRefused: false },
  { name: 'another port is another origin', headers: { ...FORM, origin: 'https://door.example' }, isRefused: true },
  { name: 'a sandboxed page', headers: { ...FORM, origin: 'null' }, isRefused: true },
  { name: 'an Origin that is none', headers: { ...FORM, origin: 'door.example:5984' }, isRefused: true },
  {
    name: 'the browser says cross-site without Origin',
    headers: { ...FORM, 'sec-fetch-site': 'cross-site' },
    isRefused: true,
  },
  { name: 'the browser says same-site', headers: { ...FORM, 'sec-fetch-site': 'same-site' }, isRefused: true },
  {
    name: 'the browser says same-origin',
    headers: { ...FORM, origin: 'null', 'sec-fetch-site': 'same-origin' },
    isRefused: false,
  },
  { name: 'the user typed the address', headers: { ...FORM, 'sec-fetch-site': 'none' }, isRefused: false },
  { name: 'a trusted origin', headers: { ...FORM, ...EVIL }, origins: ['https://evil.example'], isRefused: false },
  {
    name: 'a trusted origin beside *',
    headers: { ...FORM, ...EVIL, cookie: 'a=b' },
    origins: ['*', 'https://evil.example'],
    isRefused: false,
  },
  {
    name: 'another origin is trusted',
    headers: { ...FORM, ...EVIL },
    origins: ['https://app.example'],
    isRefused: true,
  },
  { name: 'every origin without credentials', headers: { ...FORM, ...EVIL }, origins: ['*'], isRefused: false },
  { name: 'every origin with a cookie', headers: { ...FORM, ...EVIL, cookie: 'a=b' }, origins: ['*'], isRefused: true },
  {
    name: 'every origin with a password',
    headers: { ...FORM, ...EVIL, authorization: 'Basic x' },
    origins: ['*'],
    isRefused: true,
  },
  {
    name: 'the origin null with a cookie',
    headers: { ...FORM, origin: 'null', cookie: 'a=b' },
    origins: ['null'],
    isRefused: true,
  },
]

for (const { name, method = 'POST', headers, origins = [], isRefused } of ROWS) {
  test(`simple change: ${name}: ${isRefused ? 'refused' : 'accepted'}`, () => {
    const request = { method, client: { host: 'door.example:5984' }, header: (key: string) => headers[key] }
    assert.equal(isUntrustedSimpleChange(request, { origins }), isRefused)
  })
}
