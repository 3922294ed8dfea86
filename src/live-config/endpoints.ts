// The addresses of the listeners, with the certificates that the options name.
import type { Config } from '../config/options.ts'
import type { Door } from '../http/door.ts'
import { describeListenError, type Endpoint, type Listener, listen, type TlsSettings } from '../http/server.ts'
import type { TlsProtocol } from '../http/tls-files.ts'
import { loadTlsFiles, type TlsSource } from '../http/tls-files.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { StartError } from '../kernel/start-error.ts'
import { toListenerLimits } from './door-settings.ts'

interface ListenerRow {
  toEndpoints(config: Config): readonly Endpoint[]
  /** The certificate of its TLS endpoints; `undefined`: it has none. */
  toTls(config: Config): TlsSource | undefined
  /** The options that set its address. */
  readonly options: string
}

function toDocumentEndpoints(config: Config): readonly Endpoint[] {
  const { chttpd, ssl } = config
  const host = chttpd.bind_address === 'any' ? '::' : chttpd.bind_address
  const plain: Endpoint[] = chttpd.port === 'none' ? [] : [{ kind: 'tcp', host, port: chttpd.port }]
  const source = toDocumentTls(config)
  if (!source || ssl.port === 'none') return plain
  return [...plain, { kind: 'tcp', host, port: ssl.port, tls: loadTls(source) }]
}

/** The certificate of the document door; `undefined`: it does not serve TLS. */
function toDocumentTls({ ssl }: Config): TlsSource | undefined {
  if (!ssl.enable) return undefined
  const cert = { option: 'ssl.cert_file', path: ssl.cert_file }
  return { cert, key: { option: 'ssl.key_file', path: ssl.key_file }, protocol: toDoorProtocol(ssl) }
}

/** The certificate of the multi-model door; `undefined`: none is set. */
function toMultiModelTls(config: Config): TlsSource | undefined {
  const source = toEndpointTls(config)
  return source && { ...source, protocol: toDoorProtocol(config.ssl) }
}

/** The certificate of other ssl:// endpoints; `undefined`: none is set. */
function toEndpointTls({ ssl }: Config): TlsSource | undefined {
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

export type ListenerName = 'document' | 'multi-model' | 'admin' | 'metrics'

/** The listeners, in the order in which they are opened. */
export const LISTENERS: Readonly<Record<ListenerName, ListenerRow>> = {
  document: {
    toEndpoints: toDocumentEndpoints,
    toTls: toDocumentTls,
    options: '--chttpd.port and --chttpd.bind_address',
  },
  'multi-model': {
    toEndpoints: (config) => toEndpoints(config.server.endpoint, toMultiModelTls(config)),
    toTls: toMultiModelTls,
    options: '--server.endpoint',
  },
  admin: {
    toEndpoints: (config) => toEndpoints(config.admin.endpoint, toEndpointTls(config)),
    toTls: toEndpointTls,
    options: '--admin.endpoint',
  },
  metrics: {
    toEndpoints: (config) => toEndpoints(config.metrics.endpoint, toEndpointTls(config)),
    toTls: toEndpointTls,
    options: '--metrics.endpoint',
  },
}

/** Opens the listeners of a door. If one cannot be opened, those before it are closed. */
export async function openListeners(name: ListenerName, door: Door, config: Config, { siblings }: Kernel) {
  const opened: { readonly listener: Listener; readonly tls: TlsSettings | undefined }[] = []
  const limits = { ...toListenerLimits(config, siblings.count, name), ticketSeed: siblings.seed }
  for (const endpoint of LISTENERS[name].toEndpoints(config)) {
    const listener = await listen(door, endpoint, limits).catch(async (error) => {
      await Promise.all(opened.map((each) => each.listener.close(0)))
      throw toListenError(error, endpoint, name)
    })
    opened.push({ listener, tls: endpoint.kind === 'tcp' ? endpoint.tls : undefined })
  }
  return opened
}

/** The error of a listener that could not be opened, with the options to change. */
function toListenError(error: NodeJS.ErrnoException, endpoint: Endpoint, name: ListenerName): StartError {
  const reason = describeListenError(error, endpoint)
  const advice = `Choose another address with ${LISTENERS[name].options}.`
  return new StartError(`The ${name} door ${reason}. ${advice}`, { cause: error })
}

/** The certificates that listeners use, each once. */
export function listTlsSources(config: Config): readonly TlsSource[] {
  const { server, admin, metrics } = config
  const hasEndpoint = [...server.endpoint, ...admin.endpoint, ...metrics.endpoint].some(({ kind }) => kind === 'ssl')
  return [toDocumentTls(config), hasEndpoint ? toEndpointTls(config) : undefined].filter(
    (source) => source !== undefined,
  )
}

const toEndpoints = (given: Config['server']['endpoint'], source: TlsSource | undefined): readonly Endpoint[] =>
  given.map((endpoint): Endpoint => {
    if (endpoint.kind === 'unix') return endpoint
    const { host, port } = endpoint
    return { kind: 'tcp', host, port, ...(endpoint.kind === 'ssl' && { tls: loadTls(source) }) }
  })

function loadTls(source: TlsSource | undefined): TlsSettings {
  if (!source) throw new StartError('ssl.keyfile is not set')
  const load = loadTlsFiles(source)
  if (load.kind === 'problem') throw new StartError(load.message)
  return load.files
}
