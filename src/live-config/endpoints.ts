// The addresses of the listeners, with the certificates that the options name.
import type { Config } from '../config/options.ts'
import { loadTlsSource, type TlsSource } from '../http/certificates.ts'
import type { Endpoint, TlsSettings } from '../http/server.ts'
import type { TlsProtocol } from '../http/tls-files.ts'
import { StartError } from './start-error.ts'

export function toDocumentEndpoints(config: Config): readonly Endpoint[] {
  const { chttpd, ssl } = config
  const host = chttpd.bind_address === 'any' ? '::' : chttpd.bind_address
  const plain: Endpoint[] = chttpd.port === 'none' ? [] : [{ kind: 'tcp', host, port: chttpd.port }]
  const source = toDocumentTls(config)
  if (!source || ssl.port === 'none') return plain
  return [...plain, { kind: 'tcp', host, port: ssl.port, tls: loadTls(source) }]
}

/** The certificate of the document door; `undefined`: it does not serve TLS. */
export function toDocumentTls({ ssl }: Config): TlsSource | undefined {
  if (!ssl.enable) return undefined
  const cert = { option: 'ssl.cert_file', path: ssl.cert_file }
  return { cert, key: { option: 'ssl.key_file', path: ssl.key_file }, protocol: toTlsProtocol(ssl) }
}

/** The certificate of ssl:// endpoints; `undefined`: none is set. */
export function toEndpointTls({ ssl }: Config): TlsSource | undefined {
  if (ssl.keyfile === '') return undefined
  const file = { option: 'ssl.keyfile', path: ssl.keyfile }
  return { cert: file, key: file, protocol: toTlsProtocol(ssl) }
}

const toTlsProtocol = (ssl: Config['ssl']): TlsProtocol => ({
  minVersion: `TLSv${ssl['min-version']}`,
  ...(ssl['cipher-list'] !== '' && { cipherList: { option: 'ssl.cipher-list', text: ssl['cipher-list'] } }),
})

export const toMultiModelEndpoints = (config: Config): readonly Endpoint[] =>
  toEndpoints(config.server.endpoint, config)

export const toMetricsEndpoints = (config: Config): readonly Endpoint[] => toEndpoints(config.metrics.endpoint, config)

export const toAdminEndpoints = (config: Config): readonly Endpoint[] => toEndpoints(config.admin.endpoint, config)

function toEndpoints(given: Config['server']['endpoint'], config: Config): readonly Endpoint[] {
  return given.map((endpoint): Endpoint => {
    if (endpoint.kind === 'unix') return endpoint
    const { host, port } = endpoint
    return { kind: 'tcp', host, port, ...(endpoint.kind === 'ssl' && { tls: loadTls(toEndpointTls(config)) }) }
  })
}

function loadTls(source: TlsSource | undefined): TlsSettings {
  if (!source) throw new StartError('ssl.keyfile is not set')
  const load = loadTlsSource(source)
  if (load.kind === 'problem') throw new StartError(load.message)
  return load.files
}
