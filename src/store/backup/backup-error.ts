/** A backup cannot be made, read or restored. The message is for the operator and says what to do. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
}

export const damaged = (detail: string): BackupError =>
  new BackupError(`The backup is damaged: ${detail}. Nothing was changed. Use another copy of it, or an older backup.`)

export const notABackup = (): BackupError =>
  new BackupError('The file is not a backup of Cardea. "cardea backup" makes one; "cardea import" reads other files.')

/** The database refused a row of a backup. */
export const refusedRow = (table: string, conflict: 'duplicate' | 'value'): BackupError =>
  damaged(
    conflict === 'duplicate'
      ? `two rows of ${table} have the same key`
      : `a row of ${table} has a value of the wrong kind`,
  )

export const notEmpty = (): BackupError =>
  new BackupError(
    'The store is not empty. Nothing was changed. Save it with "cardea backup" if it matters, then restore with --replace.',
  )
