import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { type Clock, SYSTEM_CLOCK } from '../base/clock.ts'
import { attempt } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Config } from '../config/options.ts'
import { compareSettings, type Settings } from '../config/settings.ts'
import { Certificates } from '../http/certificates.ts'
import { checkCertificateDates, renderDay } from '../http/tls-files.ts'
import type { HealthCheck } from '../observe/health.ts'
import { listTlsSources } from './endpoints.ts'
import type { LiveConfig } from './live-config.ts'

/**
 * Replaces certificates with the configuration. A bad certificate fails a reload as a whole; a file that becomes bad
 * later is only reported.
 */
export function followCertificates(liveConfig: LiveConfig, onReplaced: () => void): Certificates<Config> {
  const { events } = liveConfig.kernel
  const certificates = new Certificates<Config>({
    onReplaced: (source) => {
      events.record('certificate.reloaded', { source })
      onReplaced()
    },
    onProblem: (source, reason) => events.record('reload.failed', { source, reason }),
    onExpired: (source, reason) => events.record('certificate.expired', { source, reason }),
    nowMs: SYSTEM_CLOCK.nowMs,
  })
  const prepare = async (settings: Settings) => {
    // options that take effect only after a restart keep their values
    const { values } = compareSettings(liveConfig.get().settings, settings).settings
    return certificates.prepare(values)
  }
  liveConfig.joinReload({ prepare })
  return certificates
}

interface CertificateFinding {
  readonly message: string
  /** Clients reject it now. */
  readonly isOutdated: boolean
}

const SOON_MS = 14 * 86_400_000

/** The certificates of listeners that clients reject because of their dates, now or soon. */
export const checkCertificates = (config: Config, nowMs: number): readonly CertificateFinding[] =>
  listTlsSources(config).flatMap(({ cert: { option, path } }): readonly CertificateFinding[] => {
    const certificate = attempt(() => new X509Certificate(readFileSync(path)))
    if (!certificate) return []
    const name = `${option}: the certificate in ${path}`
    const outdated = checkCertificateDates(certificate, nowMs)
    if (outdated !== undefined) return [{ message: `${name} ${outdated}, and clients reject it`, isOutdated: true }]
    const { validToDate } = certificate
    if (validToDate.getTime() - nowMs > SOON_MS) return []
    return [{ message: `${name} expires on ${renderDay(validToDate)}`, isOutdated: false }]
  })

/** Plain listeners serve requests, whatever the certificates of others are. */
export const createCertificateCheck = (config: () => Config, clock: Clock): HealthCheck => ({
  name: 'certificates',
  async find() {
    const findings = checkCertificates(config(), clock.nowMs())
    if (findings.length === 0) return undefined
    const reason = findings.map(({ message }) => message).join('; ')
    return { reason, ...(findings.some(({ isOutdated }) => isOutdated) ? { isBridged: true } : { isWarning: true }) }
  },
})

/** Permissions that a file with a private key should not have: the group of the server may read it. */
const TOO_OPEN = 0o037

/** One sentence for each file with a private key of a listener that other users of this machine can read or write. */
export const listOpenKeyFiles = (config: Config): readonly string[] =>
  listTlsSources(config).flatMap(({ key: { option, path } }) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0
    return (mode & TOO_OPEN) === 0 ? [] : [`${option}: others can read or write the private key: chmod 600 ${path}`]
  })

/** Without a readable file no certificate is trusted: requests fail instead of reaching an unverified server. */
export function loadUpstreamAuthorities(config: Config, log: Log): string {
  const file = config.upstream['ca-file']
  if (file === '') return ''
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    log.error('upstream.ca-file cannot be read', { file, error })
    return 'none'
  }
}
