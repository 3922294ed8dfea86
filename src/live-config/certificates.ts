import type { Config } from '../config/options.ts'
import { Certificates } from '../http/certificates.ts'
import type { LiveConfig } from './live-config.ts'

/**
 * Replaces certificates with the configuration. A bad certificate fails a reload as a whole; a file that becomes bad
 * later is only reported.
 */
export function followCertificates({ events, joinReload }: LiveConfig): Certificates<Config> {
  const certificates = new Certificates<Config>({
    onReplaced: (source) => events.record('certificate.reloaded', { source }),
    onProblem: (source, reason) => events.record('reload.failed', { source, reason }),
  })
  joinReload({ prepare: async ({ values }) => certificates.prepare(values) })
  return certificates
}
