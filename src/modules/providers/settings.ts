// What the sections [provider:<name>] mean.
import type { Settings } from '../../config/settings.ts'
import type { User } from '../../directory/users/user.ts'
import { readClaimPath } from '../../keys/document-claims.ts'
import type { AccountRules } from '../module.ts'
import { findDiscovery, listIssuers, type ProviderEntry } from './options.ts'
import { createRoleMapCheck } from './provider.ts'

/** A provider without its keys, and where they are. */
export function toProviderSettings({ name, values }: ProviderEntry) {
  const { issuer, label } = values
  const [issuers, discovery] = [listIssuers(values), findDiscovery(values)]
  const place = { name, issuer, issuers, discovery, jwksUri: values['jwks-uri'] }
  return {
    name,
    place,
    maxAgeMs: values['keys-max-age'],
    algorithms: values.algorithms,
    users: values.users,
    keepsNames: values.names === 'as-is',
    roleMap: values['role-map'],
    // an asserted user has no session that could be listed or ended
    client:
      values['client-id'] === '' || values.users === 'asserted'
        ? undefined
        : {
            place,
            label: label || name,
            secret: values['client-secret'],
            scopes: values.scopes,
            logoutTokenType: values['logout-token-type'],
          },
    rules: {
      audience: values.audience,
      clients: values.clients,
      scopes: values.scope,
      clientId: values['client-id'],
      name: readClaimPath(values['name-claim'] || 'sub'),
      roles: values['roles-claim'] === '' ? undefined : readClaimPath(values['roles-claim']),
      factors: values['second-factor'],
      trustsEmail: values['trusts-email'],
      skewSeconds: values['clock-skew'],
    },
  }
}

export const toProviderRules = ({ named: { provider: entries } }: Pick<Settings, 'named'>): AccountRules => ({
  reservedPrefixes: entries.flatMap(({ name, values }) =>
    values.users === 'asserted' && values.names === 'prefixed' ? `${name}/` : [],
  ),
  roleIssuers: new Map(
    entries.flatMap(({ values }) => {
      const canGive = createRoleMapCheck({ roleMap: values['role-map'] })
      return values.users === 'create' ? listIssuers(values).map((issuer) => [issuer, canGive] as const) : []
    }),
  ),
})

/** Accounts at providers that are configured. */
export function countSignInLinks(
  { links = [] }: User,
  { named: { provider: entries } }: Pick<Settings, 'named'>,
): number {
  const linking = entries.filter(({ values }) => values.users !== 'asserted')
  const issuers = new Set(linking.flatMap(({ values }) => listIssuers(values)))
  return links.filter(({ issuer }) => issuers.has(issuer)).length
}
