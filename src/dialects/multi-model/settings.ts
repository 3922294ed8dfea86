/** The current options of the multi-model dialect. */
export interface MultiModelSettings {
  /** Off: no request needs a credential. */
  readonly authentication: boolean
  /** Only paths that begin with `/_` need a credential; application paths are open. */
  readonly systemOnly: boolean
  /** Whether requests over a Unix socket need a credential. */
  readonly unixSockets: boolean
  /** Whether the files of the database's web interface load before its login. */
  readonly webUiBeforeLogin: boolean
  /** Only a single server keeps users; the other roles accept only superuser tokens. */
  readonly role: 'single' | 'dbserver' | 'agent'
  /** Only managers of the server may see versions and figures. */
  readonly isHardened: boolean
  /** Identifies this deployment. */
  readonly uuid: string
  readonly sessionTimeoutSeconds: number
  readonly minimalExpirySeconds: number
  readonly maximalExpirySeconds: number
  /** Seconds after the sign-in at which a session ends; 0: never. */
  readonly maxLifetimeSeconds: number
  /** From which origins a browser's credentials are accepted. */
  readonly trustedOrigins: readonly string[]
  readonly returnsQueueTime: boolean
}

export interface Databases {
  exists(name: string): boolean | Promise<boolean>
  /** By name, the system database included. */
  list(): Promise<readonly string[]>
}
