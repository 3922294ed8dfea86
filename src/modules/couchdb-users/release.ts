// The copy becomes the store's own.
import { nowSeconds } from '../../base/clock.ts'
import { applyUpdate } from '../../directory/users/revisions.ts'
import { withField } from '../../directory/users/user.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { claimLease, listRefusedDocuments, removeCopy } from './state.ts'

/** `holder`: has the lease. */
export async function releaseCopy(
  kernel: Pick<Kernel, 'store' | 'clock'>,
  prefix: string,
  holder: string,
): Promise<undefined> {
  const { statements } = kernel.store
  let page = await listRefusedDocuments(statements, { limit: PAGE_SIZE })
  while (page.length > 0) {
    for (const { document } of page) await disableWithheld(kernel, document.slice(prefix.length))
    await claimLease(statements, holder, kernel.clock.nowMs())
    page = await listRefusedDocuments(statements, { after: page.at(-1)?.document ?? '', limit: PAGE_SIZE })
  }
  await removeCopy(statements, holder)
}

/** Between two renewals of the lease. */
const PAGE_SIZE = 500

/** No repair of a document can let the user in any more: an administrator enables it. */
async function disableWithheld({ store, clock }: Pick<Kernel, 'store' | 'clock'>, name: string): Promise<void> {
  for (;;) {
    // a user whose record is damaged cannot sign in anyway
    const stored = (await store.findUsers([name], () => {})).get(name)
    if (stored?.record.kind !== 'user' || !stored.record.isWithheld) return
    const { record: before, sequence } = stored
    const { mustChangePassword } = before
    const disabled = applyUpdate(
      before,
      { ...before, isActive: false },
      { nowSeconds: nowSeconds(clock), mustChangePassword },
    )
    await store.writeUser({ expected: sequence, record: withField(disabled, 'isWithheld', undefined) })
  }
}
