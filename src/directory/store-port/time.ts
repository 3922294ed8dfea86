/** The time that the nodes of a store have in common, as it is stored. */
export interface StoreTime {
  /** How far the time of this store has come, in milliseconds since the epoch. It never goes back. 0: not known. */
  readonly livedMs: number
  /** The last value of `livedMs` that agreed with the store's clock. 0: not known. */
  readonly agreedMs: number
  /** The clock of the database server; `undefined`: it is the clock of this machine. */
  readonly clockMs: number | undefined
}

export interface TimeStore {
  readTime(): Promise<StoreTime>
  /** Stores both, unless later values are stored already. Returns what is stored then. */
  keepTime(time: Pick<StoreTime, 'livedMs' | 'agreedMs'>): Promise<StoreTime>
}
