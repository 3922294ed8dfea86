// What `cardea check` finds about identity providers.
import { messageOf } from '../../base/errors.ts'
import type { Settings } from '../../config/settings.ts'
import type { User } from '../../directory/users/user.ts'
import { ALGORITHMS } from '../../keys/algorithms.ts'
import { listUsersWith } from '../../store/backup/check-records.ts'
import { readStore } from '../../store/backup/engines.ts'
import type { CheckedWith, Finding } from '../module.ts'
import { fetchDiscovery, fetchKeys, type ProviderKeySet } from './keys.ts'
import { toProviderRules, toProviderSettings } from './settings.ts'
import { findPublicOrigin } from './sign-in.ts'

/** What to do about a provider whose keys cannot be fetched, by the reason. */
const PROVIDER_ADVICE: readonly (readonly [reason: RegExp, advice: string])[] = [
  [/its issuer is/, 'Copy the issuer exactly, with or without the slash at its end.'],
  [/certificate/, 'Trust its authority with NODE_EXTRA_CA_CERTS=<file>, also when the server starts.'],
  [/redirects/, 'Name the address it redirects to, as issuer or as discovery.'],
  [
    /status 404|not a JSON object/,
    'In Keycloak, the issuer is https://<host>/realms/<realm>. Otherwise set discovery.',
  ],
]

export const checkProviders = async (settings: Settings, { hasStore }: CheckedWith): Promise<readonly Finding[]> => [
  ...(await checkKeys(settings)),
  ...(hasStore ? await checkGivenRoles(settings) : []),
]

/** Fetches what the server would fetch. */
async function checkKeys(settings: Settings): Promise<readonly Finding[]> {
  const found = settings.named.provider.map(async ({ name, values }): Promise<readonly Finding[]> => {
    const { place, client, algorithms } = toProviderSettings({ name, values })
    try {
      const keys = await fetchKeys(place)
      if (!algorithms.some((each) => hasKeyFor(keys, each, place.issuers[0])))
        throw new Error(
          `none of its keys is for ${algorithms.join(', ')}: compare algorithms with its signature algorithm`,
        )
      return values['client-id'] === ''
        ? []
        : await checkBrowserSignIn(`[provider:${name}]`, { place, client }, settings)
    } catch (error) {
      const [url, why] = [place.jwksUri || place.discovery, messageOf(error)]
      const [, advice = `Open ${url} from this machine, and compare issuer, discovery and jwks-uri.`] =
        PROVIDER_ADVICE.find(([reason]) => reason.test(why)) ?? []
      return [{ level: 'problem', message: `[provider:${name}] ${why}`, advice }]
    }
  })
  return (await Promise.all(found)).flat()
}

function hasKeyFor(keys: ProviderKeySet, name: string, issuer: string | undefined): boolean {
  const algorithm = ALGORITHMS.get(name)
  return algorithm !== undefined && keys.find({ algorithm, typ: undefined, kid: undefined }, issuer).kind === 'keys'
}

/** Why the sign-in page has no button for a provider with a client. */
async function checkBrowserSignIn(
  name: string,
  { place, client }: Pick<ReturnType<typeof toProviderSettings>, 'place' | 'client'>,
  { values }: Settings,
): Promise<readonly Finding[]> {
  const without = (message: string, advice: string): readonly Finding[] => [
    { level: 'warning', message: `${name} ${message}, so the sign-in page has no button for it`, advice },
  ]
  if (!client) return without('asserts its users', 'Set users to link or create, or remove client-id.')
  if (values.console['public-url'] === '')
    return without('has a client, but console.public-url is empty', 'Set it to the URL at which browsers reach Cardea.')
  if (findPublicOrigin(values.console['public-url']) === undefined)
    return without(
      'has a client, but console.public-url has a path',
      'Let the proxy forward /_cardea/ without a prefix.',
    )
  const { document } = await fetchDiscovery(place)
  const missing = ['authorization_endpoint', 'token_endpoint'].find((member) => document[member] === undefined)
  return missing ? without(`names no ${missing}`, 'Compare its discovery document.') : []
}

const REMOVE_ROLES =
  'Their own roles count with every credential, those that a provider gives only in its own sessions and tokens. Remove the roles that the provider shall give.'

/** An operator may have given users the roles of their provider, which they keep when the provider no longer gives them. */
async function checkGivenRoles(settings: Settings): Promise<readonly Finding[]> {
  const { roleIssuers } = toProviderRules(settings)
  const canHave = ({ links = [], document: { roles } }: User): boolean =>
    links.some(({ issuer }) => roles.some(roleIssuers.get(issuer) ?? (() => false)))
  if (roleIssuers.size === 0) return []
  // why it cannot be read is a finding about the store
  const names = await readStore(settings.values.store.url, (snapshot) =>
    listUsersWith(snapshot, 'links', canHave),
  ).catch(() => [])
  const message = 'users have roles of their own that their identity provider can give'
  return names.length === 0 ? [] : [{ level: 'warning', message, names, advice: REMOVE_ROLES }]
}
