import { readRevision } from '../user.ts'

/** Changes still to come must be countable. */
const MOST_CHANGES = 1e12

/** Whether a revision from elsewhere can be gone on from. */
export const isRevision = (text: string): boolean => (readRevision(text)?.number ?? MOST_CHANGES) < MOST_CHANGES
