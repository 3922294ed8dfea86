/** A store that is there but cannot be used as it is. The message is a sentence for whoever starts Cardea. */
export class IncompatibleStoreError extends Error {
  override readonly name = 'StoreMisfit'
}
