import { MONOTONIC_CLOCK } from '../../base/clock.ts'
import type { ExternalSignIn } from '../../dialects/admin-api/external-sign-in.ts'
import { createWarning } from '../../observe/health.ts'
import type { ModuleCore } from '../module.ts'
import { createProviderKeys } from './keys.ts'
import type { Providers } from './provider.ts'
import { CALLBACK_PATH, listProviders, providerRoutes } from './routes.ts'
import { toProviderSettings } from './settings.ts'
import { createProviderSignIn } from './sign-in.ts'
import { createExternalAccountFinder, createProviderTokens } from './tokens.ts'

/** The identity providers of the configuration. Their keys are fetched beside the start. */
export function openProviders({ liveConfig, config, directory, kernel }: ModuleCore): ExternalSignIn {
  const { clock, log, siblings } = kernel
  const opened = liveConfig.get().settings.named.provider.map((entry) => {
    const { place, maxAgeMs, ...provider } = toProviderSettings(entry)
    const keys = createProviderKeys(place, maxAgeMs, MONOTONIC_CLOCK, log)
    keys.get()
    return { issuers: place.issuers, provider: { ...provider, keys } }
  })
  const providers: Providers = new Map(
    opened.flatMap(({ issuers, provider }) => issuers.map((issuer) => [issuer, provider] as const)),
  )
  const maxLifetimeSeconds = () => config.get().chttpd_auth.max_lifetime
  const factorRoles = () => config.get().admin['second-factor-roles']
  const deps = { providers, directory, maxLifetimeSeconds, factorRoles, clock }
  const pages = {
    publicUrl: () => config.get().console['public-url'],
    ownKey: () => liveConfig.get().ownKey,
    processes: siblings.count,
  }
  const providerSignIn = createProviderSignIn({ ...deps, ...pages }, CALLBACK_PATH)
  return {
    issuers: new Set(providers.keys()),
    findToken: (handler) => (providers.size === 0 ? undefined : createProviderTokens(deps, handler)),
    findAccount: createExternalAccountFinder(deps),
    isOpenToBrowsers: () => providerSignIn.list().length > 0,
    pageOptions: () => ({ providers: listProviders({ providerSignIn }) }),
    routes: (page, showPage) => providerRoutes({ ...page, providerSignIn }, showPage),
    checks: opened.map(({ provider: { name, keys } }) => createWarning(`provider.${name}`, keys.check)),
  }
}
