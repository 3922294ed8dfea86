import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { type Clock, SYSTEM_CLOCK } from '../base/clock.ts'
import { codeOf } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Topic } from '../base/siblings.ts'
import type { Config } from '../config/options.ts'
import { compareSettings, type Settings } from '../config/settings.ts'
import { Certificates, listPaths } from '../http/certificates.ts'
import { checkCertificateDates, loadTlsFiles, renderDay, type TlsSource } from '../http/tls-files.ts'
import { findFileState } from '../keys/secret-folder.ts'
import type { HealthCheck } from '../observe/health.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import { listTlsSources } from './endpoints.ts'
import type { LiveConfig } from './live-config.ts'

/** A sibling uses other files than before. */
const RENEWED: Topic<undefined> = { name: 'certificates' }

/**
 * Replaces certificates with the configuration. A bad certificate fails a reload as a whole; a file that becomes bad
 * later is only reported.
 */
export function followCertificates(liveConfig: LiveConfig, onReplaced: () => void): Certificates<Config> {
  const { siblings } = liveConfig.kernel
  // each sibling sees the same files
  const record: SecurityEvents['record'] = (...event) => {
    if (siblings.isFirst()) liveConfig.kernel.events.record(...event)
  }
  const certificates = new Certificates<Config>({
    onReplaced: (source) => {
      record('certificate.reloaded', { source })
      onReplaced()
      void siblings.tellAll(RENEWED, undefined).catch(() => {})
    },
    onProblem: (source, reason) => record('reload.failed', { source, reason }),
    onExpired: (source, reason) => record('certificate.expired', { source, reason }),
    nowMs: SYSTEM_CLOCK.nowMs,
    listSources: listTlsSources,
  })
  siblings.answer(RENEWED, () => certificates.renew(liveConfig.get().settings.values))
  const prepare = async (settings: Settings) => {
    // options that take effect only after a restart keep their values
    const { values } = compareSettings(liveConfig.get().settings, settings).settings
    return certificates.prepare(values)
  }
  // the files are read when the listeners open, and again when they are followed
  liveConfig.joinReload({ digests: () => new Map(), prepare })
  return certificates
}

interface CertificateFinding {
  readonly message: string
  /** Clients reject it now. */
  readonly isOutdated: boolean
}

const SOON_MS = 14 * 86_400_000

/** What an operator should change: files that cannot be used, and certificates that clients reject, now or soon. */
export const checkCertificates = (config: Config, nowMs: number): readonly CertificateFinding[] =>
  checkLoaded(loadCertificates(listTlsSources(config)), nowMs)

type LoadedCertificate = { readonly name: string; readonly certificate: X509Certificate } | { readonly problem: string }

const loadCertificates = (sources: readonly TlsSource[]): readonly LoadedCertificate[] =>
  sources.map((source) => {
    const load = loadTlsFiles(source)
    if (load.kind === 'problem') return { problem: load.message }
    const { option, path } = source.cert
    return { name: `${option}: the certificate in ${path}`, certificate: new X509Certificate(load.files.cert) }
  })

const checkLoaded = (loaded: readonly LoadedCertificate[], nowMs: number): readonly CertificateFinding[] =>
  loaded.flatMap((each): readonly CertificateFinding[] => {
    // listeners that are open keep the certificate they have
    if ('problem' in each) return [{ message: each.problem, isOutdated: false }]
    const { name, certificate } = each
    const outdated = checkCertificateDates(certificate, nowMs)
    if (outdated !== undefined) return [{ message: `${name} ${outdated}, and clients reject it`, isOutdated: true }]
    const { validToDate } = certificate
    if (validToDate.getTime() - nowMs > SOON_MS) return []
    return [{ message: `${name} expires on ${renderDay(validToDate)}`, isOutdated: false }]
  })

/** Plain listeners serve requests, whatever the certificates of others are. */
export function createCertificateCheck(config: () => Config, clock: Clock): HealthCheck {
  let known: { readonly state: string; readonly loaded: readonly LoadedCertificate[] } | undefined
  return {
    name: 'certificates',
    async find() {
      const sources = listTlsSources(config())
      // anonymous requests cause this check: files are read only after a change
      const states = sources.flatMap(listPaths).map((path) => findFileState(path).catch(codeOf))
      const state = JSON.stringify([sources, await Promise.all(states)])
      if (known?.state !== state) known = { state, loaded: loadCertificates(sources) }
      const findings = checkLoaded(known.loaded, clock.nowMs())
      if (findings.length === 0) return undefined
      const reason = findings.map(({ message }) => message).join('; ')
      return { reason, ...(findings.some(({ isOutdated }) => isOutdated) ? { isBridged: true } : { isWarning: true }) }
    },
  }
}

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
