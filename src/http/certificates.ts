import { hash, X509Certificate } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { watchSecrets } from '../keys/live-ring.ts'
import type { Listener, TlsSettings } from './server.ts'
import { checkCertificateDates, loadTlsFiles, type TlsLoad, type TlsSource } from './tls-files.ts'

export interface CertificateWatchDeps<S> {
  /** A listener uses another certificate or other versions and ciphers. Must not throw. */
  onReplaced(file: string): void
  /** A changed file cannot be used, so the listeners keep what they have. Must not throw. */
  onProblem(file: string, problem: string): void
  /** Called again every hour, as long as a certificate in use is out of date. Must not throw. */
  onExpired(file: string, problem: string): void
  nowMs(): number
  /** The files of all listeners with these settings, also of those that are not open yet. */
  listSources(settings: S): readonly TlsSource[]
}

/** A listener with TLS. `S`: the settings that name its files; `undefined` if they name none. */
export interface TlsListener<S> {
  readonly listener: Listener
  tls: TlsSettings
  toSource(settings: S): TlsSource | undefined
}

const DATES_CHECK_MS = 3_600_000

interface Loaded<S> {
  readonly served: TlsListener<S>
  readonly source: TlsSource
  readonly load: TlsLoad
}

/** The certificates of all listeners. They are replaced on reload and when their files change. */
export class Certificates<S> {
  readonly #served: TlsListener<S>[] = []
  readonly #deps: CertificateWatchDeps<S>
  /** The last problem of each file, so that it is reported once. */
  readonly #reported = new Map<string, string>()
  #stopWatching: readonly (() => void)[] = []
  #datesCheck: NodeJS.Timeout | undefined

  constructor(deps: CertificateWatchDeps<S>) {
    this.#deps = deps
  }

  add(listener: TlsListener<S>): void {
    this.#served.push({ ...listener })
  }

  /** Follows the files that these settings name, instead of those before. */
  watch(settings: S): void {
    this.stop()
    const renew = () => this.renew(settings)
    const sources = this.#served.flatMap(({ toSource }) => toSource(settings) ?? [])
    const files = new Set(sources.flatMap(listPaths))
    this.#stopWatching = [...files].map((keyfile) => watchSecrets({ keyfile }, renew))
    const checkDates = () => this.#checkDates(settings)
    checkDates()
    this.#datesCheck = setInterval(checkDates, DATES_CHECK_MS).unref()
  }

  /** Loads every certificate without using it. */
  prepare(settings: S) {
    const loaded = this.#load(settings)
    const sources = this.#deps.listSources(settings)
    const problems = loaded.flatMap(({ load }) => (load.kind === 'problem' ? [load.message] : []))
    return {
      problems: [...new Set(problems)],
      digests: new Map(
        sources.map((source) => [source.cert.path, hash('sha256', JSON.stringify(loadTlsFiles(source)))]),
      ),
      /** Uses what could be loaded. */
      apply: () => {
        for (const item of loaded) this.#use(item)
        this.watch(settings)
      },
    }
  }

  stop(): void {
    for (const stop of this.#stopWatching) stop()
    this.#stopWatching = []
    clearInterval(this.#datesCheck)
  }

  #load(settings: S): readonly Loaded<S>[] {
    return this.#served.flatMap((served) => {
      const source = served.toSource(settings)
      return source ? [{ served, source, load: loadTlsFiles(source) }] : []
    })
  }

  /** Once for listeners with the same file. */
  #checkDates(settings: S): void {
    const files = new Map(this.#served.map(({ tls, toSource }) => [toSource(settings)?.cert.path ?? '', tls.cert]))
    for (const [path, text] of files) {
      const problem = checkCertificateDates(new X509Certificate(text), this.#deps.nowMs())
      if (problem !== undefined) this.#deps.onExpired(path, `the certificate ${problem}`)
    }
  }

  /** Reads the files of these settings again, and uses those that are in order. */
  renew(settings: S): void {
    for (const item of this.#load(settings)) {
      this.#report(item)
      this.#use(item)
    }
  }

  #report({ source: { cert }, load }: Loaded<S>): void {
    if (load.kind === 'files') return void this.#reported.delete(cert.path)
    if (this.#reported.get(cert.path) === load.message) return
    this.#reported.set(cert.path, load.message)
    this.#deps.onProblem(cert.path, load.message)
  }

  #use({ served, source, load }: Loaded<S>): void {
    if (load.kind === 'problem' || isDeepStrictEqual(load.files, served.tls)) return
    served.listener.replaceTls(load.files)
    served.tls = load.files
    this.#deps.onReplaced(source.cert.path)
  }
}

/** The files of a listener. */
export const listPaths = ({ cert, key, protocol: { clients } }: TlsSource): readonly string[] =>
  [cert, key, clients?.ca, clients?.crl].flatMap((file) => file?.path ?? [])
