import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { toPeerKey } from '../../src/base/peer-key.ts'

const rows: readonly (readonly [string, string | undefined])[] = [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:192.0.2.1', '192.0.2.1'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:c000:0201', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', 'unix'],
  ['0.0.0.0', undefined],
  ['not:an address', 'not:an address'],
]

describe('peer key', () => {
  for (const [address, key] of rows) {
    it(`counts ${JSON.stringify(address)} as ${key}`, () => assert.equal(toPeerKey(address), key))
  }
})
