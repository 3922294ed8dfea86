// The copy becomes the store's own.
import { nowSeconds } from '../../base/clock.ts'
import { applyUpdate } from '../../directory/users/revisions.ts'
import { withField } from '../../directory/users/user.ts'
import type { Kernel } from '../../kernel/kernel.ts'
import { listRefusedDocuments, removeCopy } from './state.ts'

/** `holder`: has the lease. */
export async function releaseCopy(
  kernel: Pick<Kernel, 'store' | 'clock'>,
  prefix: string,
  holder: string,
): Promise<undefined> {
  const { statements } = kernel.store
  for (const { document } of await listRefusedDocuments(statements))
    await disableWithheld(kernel, document.slice(prefix.length))
  await removeCopy(statements, holder)
}

/** No repair of a document can let the user in any more: an administrator enables it. */
async function disableWithheld({ store, clock }: Pick<Kernel, 'store' | 'clock'>, name: string): Promise<void> {
  for (;;) {
    const stored = await store.findUser(name)
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
