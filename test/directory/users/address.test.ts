import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listForms, readAddress, toAddressKey } from '../../../src/directory/users/address.ts'

const DOMAIN = `${'d'.repeat(63)}.${'e'.repeat(63)}.${'f'.repeat(58)}.de`
const LONGEST = `${'a'.repeat(64)}@${DOMAIN}`

const READ: Readonly<Record<string, readonly [given: string, address: string | undefined]>> = {
  'a plain address': ['ann@example.com', 'ann@example.com'],
  'white space around it': ['  ann@example.com\t', 'ann@example.com'],
  'the case of the local part': ['Ann@EXAMPLE.com', 'Ann@example.com'],
  'a plus and dots': ['a.nn+shop@example.com', 'a.nn+shop@example.com'],
  'an international domain': ['ann@Bücher.example', 'ann@xn--bcher-kva.example'],
  'an ideographic full stop': ['ann@example。com', 'ann@example.com'],
  'a host without a dot': ['root@localhost', 'root@localhost'],
  '254 bytes': [LONGEST, LONGEST],
  '255 bytes': [LONGEST.replace('.de', '.dev'), undefined],
  '254 characters of an international domain, which is longer in ASCII': [
    `${'a'.repeat(64)}@ü${DOMAIN.slice(1)}`,
    undefined,
  ],
  'a local part of 65 bytes': [`${'a'.repeat(65)}@example.com`, undefined],
  'a Cyrillic letter that looks like a': ['аnn@example.com', undefined],
  'a full-width commercial at': ['ann＠example.com', undefined],
  'a zero-width space': ['an\u200bn@example.com', undefined],
  'a zero-width space in the domain': ['ann@exa\u200bmple.com', 'ann@example.com'],
  'a line break': ['ann@example.com\r\nBcc: eve@example.com', undefined],
  'a line break in the local part': ['ann\nBcc:eve@example.com', undefined],
  'two addresses': ['ann@example.com,eve@example.com', undefined],
  'a name before it': ['Ann <ann@example.com>', undefined],
  'a quoted local part': ['"ann eve"@example.com', undefined],
  'a second @': ['ann@eve@example.com', undefined],
  'two dots': ['ann..b@example.com', undefined],
  'a dot at the end of the local part': ['ann.@example.com', undefined],
  'an IP address': ['ann@127.0.0.1', undefined],
  'an IP address as a number': ['ann@2130706433', undefined],
  'an IP address in brackets': ['ann@[127.0.0.1]', undefined],
  'a port': ['ann@example.com:25', undefined],
  'a path': ['ann@example.com/x', undefined],
  'an escape': ['ann@ex%61mple.com', undefined],
  'a character that becomes a slash': ['ann@ex℀mple.com', undefined],
  'a domain that begins with a hyphen': ['ann@-example.com', undefined],
  'an empty label': ['ann@example..com', undefined],
  'a dot at its end': ['ann@example.com.', undefined],
  'no domain': ['ann@', undefined],
  nothing: ['', undefined],
}

describe('readAddress', () => {
  for (const [name, [given, address]] of Object.entries(READ))
    it(`${address === undefined ? 'refuses' : 'reads'} ${name}`, () => assert.equal(readAddress(given), address))

  it('reads what it returned', () => {
    for (const [, address] of Object.values(READ)) if (address) assert.equal(readAddress(address), address)
  })
})

describe('listForms', () => {
  it('has an international domain in ASCII and in its own letters', () => {
    assert.deepEqual(listForms('Ann@example.com'), ['Ann@example.com'])
    assert.deepEqual(listForms('ann@xn--bcher-kva.example'), ['ann@xn--bcher-kva.example', 'ann@bücher.example'])
  })
})

describe('toAddressKey', () => {
  it('ignores case, and nothing else', () => {
    assert.equal(toAddressKey('Ann@example.com'), toAddressKey('ann@example.com'))
    for (const other of ['a.nn@example.com', 'ann+x@example.com', 'ann@example.org'])
      assert.notEqual(toAddressKey(other), toAddressKey('ann@example.com'))
  })
})
