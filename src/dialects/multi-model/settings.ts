export interface ManagerSettings {
  /** `grants`: whether they limit users at the document door too; left out if there is no module for it. */
  readonly document: { readonly name: string; readonly grants?: 'off' | 'enforce' }
}

/** The options that this dialect reads, by section, under their own names. */
export interface MultiModelSettings extends ManagerSettings {
  readonly server: {
    /** Off: no request needs a credential. */
    readonly authentication: boolean
    /** Only paths that begin with `/_` need a credential; application paths are open. */
    readonly 'authentication-system-only': boolean
    /** Whether requests over a Unix socket need a credential. */
    readonly 'authentication-unix-sockets': boolean
    /** Only a single server keeps users; the other roles accept only superuser tokens. */
    readonly role: 'single' | 'dbserver' | 'agent'
    /** Only managers of the server may see versions and figures. */
    readonly harden: boolean
    /** Seconds. */
    readonly 'session-timeout': number
    /** Milliseconds after which a verified password is computed again; 0: not until it changes. */
    readonly 'authentication-timeout': number
  }
  /** Seconds. */
  readonly auth: Readonly<Record<'minimal-jwt-expiry-time' | 'maximal-jwt-expiry-time', number>>
  readonly http: {
    /** From which origins a browser's credentials are accepted. */
    readonly 'trusted-origin': readonly string[]
    readonly 'return-queue-time-header': boolean
  }
  /** Whether the files of the database's web interface load before its login. */
  readonly 'multi-model': { readonly 'web-ui-before-login': boolean }
  /** Identifies this deployment. */
  readonly couchdb: { readonly uuid: string }
  /** Seconds after the sign-in at which a session ends; 0: never. */
  readonly chttpd_auth: { readonly max_lifetime: number }
}

export interface Databases {
  exists(name: string): boolean | Promise<boolean>
  /** By name, the system database included. */
  list(): Promise<readonly string[]>
}
