/**
 * Thrown in a worker thread that cannot decide about a request: the main thread handles it instead. `onAccepted` is
 * called if the main thread has accepted the credential of the request.
 */
export class RelayNeeded extends Error {
  override readonly name = 'RelayNeeded'
  readonly onAccepted: (() => void) | undefined

  constructor(onAccepted?: () => void) {
    super('the main thread handles this request')
    this.onAccepted = onAccepted
  }
}

export async function relay(): Promise<never> {
  throw new RelayNeeded()
}
