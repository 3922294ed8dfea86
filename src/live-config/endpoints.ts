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
  return { cert, key: { option: 'ssl.key_file', path: ssl.key_file }, protocol: toDoorProtocol(ssl) }
}

/** The certificate of the multi-model door; `undefined`: none is set. */
export function toMultiModelTls(config: Config): TlsSource | undefined {
  const source = toEndpointTls(config)
  return source && { ...source, protocol: toDoorProtocol(config.ssl) }
}

/** The certificate of other ssl:// endpoints; `undefined`: none is set. */
export function toEndpointTls({ ssl }: Config): TlsSource | undefined {
  if (ssl.keyfile === '') return undefined
  const file = { option: 'ssl.keyfile', path: ssl.keyfile }
  return { cert: file, key: file, protocol: toTlsProtocol(ssl) }
}

const toTlsProtocol = (ssl: Config['ssl']): TlsProtocol => ({
  minVersion: `TLSv${ssl['min-version']}`,
  ...(ssl['cipher-list'] !== '' && { cipherList: { option: 'ssl.cipher-list', text: ssl['cipher-list'] } }),
})

/** The doors ask clients for a certificate where `ssl.client-ca` is set. The other listeners never do. */
function toDoorProtocol(ssl: Config['ssl']): TlsProtocol {
  const { 'client-ca': ca, 'client-crl': crl } = ssl
  if (ca === '') return toTlsProtocol(ssl)
  return {
    ...toTlsProtocol(ssl),
    clients: {
      ca: { option: 'ssl.client-ca', path: ca },
      crl: crl === '' ? undefined : { option: 'ssl.client-crl', path: crl },
    },
  }
}

export const toMultiModelEndpoints = (config: Config): readonly Endpoint[] =>
  toEndpoints(config.server.endpoint, toMultiModelTls(config))

export const toMetricsEndpoints = (config: Config): readonly Endpoint[] =>
  toEndpoints(config.metrics.endpoint, toEndpointTls(config))

export const toAdminEndpoints = (config: Config): readonly Endpoint[] =>
  toEndpoints(config.admin.endpoint, toEndpointTls(config))

/** The certificates that listeners use, each once. */
export function listTlsSources(config: Config): readonly TlsSource[] {
  const { server, admin, metrics } = config
  const hasEndpoint = [...server.endpoint, ...admin.endpoint, ...metrics.endpoint].some(({ kind }) => kind === 'ssl')
  return [toDocumentTls(config), hasEndpoint ? toEndpointTls(config) : undefined].filter(
    (source) => source !== undefined,
  )
}

function toEndpoints(given: Config['server']['endpoint'], source: TlsSource | undefined): readonly Endpoint[] {
  return given.map((endpoint): Endpoint => {
    if (endpoint.kind === 'unix') return endpoint
    const { host, port } = endpoint
    return { kind: 'tcp', host, port, ...(endpoint.kind === 'ssl' && { tls: loadTls(source) }) }
  })
}

function loadTls(source: TlsSource | undefined): TlsSettings {
  if (!source) throw new StartError('ssl.keyfile is not set')
  const load = loadTlsSource(source)
  if (load.kind === 'problem') throw new StartError(load.message)
  return load.files
}
