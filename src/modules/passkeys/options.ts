import { serverUrls } from '../../config/addresses.ts'
import { matching } from '../../config/codecs.ts'
import { live } from '../../config/option-table.ts'
import type { Rule } from '../../config/options.ts'

/** The options that the module reads, by section, under their own names. */
export interface PasskeySettings {
  readonly passkeys: { readonly 'rp-id': string; readonly origins: readonly string[] }
  readonly console: { readonly 'public-url': string }
}

/** Without an address of the server, passkeys work on this machine only. */
export const LOCAL = 'localhost'

/** The host that passkeys are made for. */
export const toRpId = ({ passkeys, console: { 'public-url': url } }: PasskeySettings): string =>
  passkeys['rp-id'] || (url === '' ? LOCAL : new URL(url).hostname)

const fixed = 'it decides which pages may sign users in'

/** A name and no address: browsers accept no other. */
const HOST = /^(?:|(?!.*\.\d+$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)$/

const ROWS = {
  'passkeys.rp-id': live(matching('a host name in small letters, or nothing', HOST), '', {
    help: 'Host that passkeys are made for.',
    more: 'If empty, the host of console.public-url; without that, localhost. Another value makes existing passkeys unusable.',
    fixed,
  }),
  'passkeys.origins': live(serverUrls, [], {
    help: 'Origins of applications on other hosts below rp-id, whose pages may use passkeys.',
    more: 'The origin of console.public-url, and those of the listeners at the host rp-id, need no entry.',
    fixed,
  }),
}

const BELOW_HOST: Rule = {
  about: ['passkeys.rp-id', 'passkeys.origins', 'console.public-url'],
  kind: 'bad-value',
  check: ({ values }) => {
    const rpId = toRpId(values)
    const urls = [values.console['public-url'], ...values.passkeys.origins].filter((url) => url !== '')
    const outside = urls.find((url) => !`.${new URL(url).hostname}`.endsWith(`.${rpId}`))
    return outside === undefined
      ? undefined
      : `passkeys.rp-id: ${outside} is not at the host ${rpId} or below it, so browsers use no passkey there`
  },
}

export const passkeysOptions = {
  rows: ROWS,
  sections: { passkeys: 'Sign-in with passkeys.' },
  rules: [BELOW_HOST],
}
