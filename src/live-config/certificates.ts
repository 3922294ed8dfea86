import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Config } from '../config/options.ts'
import { compareSettings, type Settings } from '../config/settings.ts'
import { Certificates } from '../http/certificates.ts'
import { checkCertificateDates, loadTlsFiles } from '../http/tls-files.ts'
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

/** One sentence for each certificate of a listener that clients reject now because of its dates. */
export const listOutdatedCertificates = (config: Config, nowMs: number): readonly string[] =>
  listTlsSources(config).flatMap((source) => {
    const load = loadTlsFiles(source)
    const problem =
      load.kind === 'files' ? checkCertificateDates(new X509Certificate(load.files.cert), nowMs) : undefined
    const { option, path } = source.cert
    return problem === undefined ? [] : [`${option}: the certificate in ${path} ${problem}, and clients reject it`]
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
