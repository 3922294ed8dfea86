import { useState } from 'preact/hooks'
import { toHref } from '../router.ts'
import { shared } from '../texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Drawing, Icon } from '../ui/icons.tsx'
import { Badge, Button } from '../ui/parts.tsx'
import { useLiveCounts } from './live.ts'
import type { Notice, PageRow } from './page-row.ts'
import { texts } from './texts.ts'

interface NavigationProps {
  readonly pages: readonly PageRow[]
  readonly current: string | undefined
  readonly onHelp: () => void
}

const MAX_PRIMARY = 4

export function Navigation({ pages, current, onHelp }: NavigationProps) {
  const counts = useLiveCounts()
  const [isMoreOpen, setMoreOpen] = useState(false)
  const primary = new Set(pages.filter((page) => page.isPrimary || pages.length <= MAX_PRIMARY + 1))
  const rest = pages.filter((page) => !primary.has(page))
  return (
    <nav class="nav" aria-label={texts.navigation}>
      {pages.map((page) => (
        <NavigationLink
          key={page.name}
          page={page}
          isCurrent={page.name === current}
          isPrimary={primary.has(page)}
          notice={page.notice?.(counts)}
        />
      ))}
      {rest.length > 0 && (
        <button
          class="only-narrow"
          type="button"
          aria-current={rest.some(({ name }) => name === current) ? 'page' : undefined}
          onClick={() => setMoreOpen(true)}
        >
          <Icon name="more" />
          {texts.more}
        </button>
      )}
      {isMoreOpen && <MorePages pages={rest} current={current} onHelp={onHelp} onClose={() => setMoreOpen(false)} />}
    </nav>
  )
}

interface NavigationLinkProps {
  readonly page: PageRow
  readonly isCurrent: boolean
  readonly isPrimary: boolean
  readonly notice: Notice | undefined
}

const NavigationLink = ({ page, isCurrent, isPrimary, notice }: NavigationLinkProps) => (
  <a class={isPrimary ? '' : 'only-wide'} href={toHref([page.name])} aria-current={isCurrent ? 'page' : undefined}>
    <Drawing path={page.icon} />
    <span class="full">{page.title}</span>
    <span class="short" aria-hidden="true">
      {page.shortTitle ?? page.title}
    </span>
    {notice && notice.count > 0 && (
      <span class="count" title={notice.text}>
        <Badge tone="warning">
          {notice.count}
          <span class="hidden-label"> {notice.text}</span>
        </Badge>
      </span>
    )}
  </a>
)

interface MorePagesProps extends NavigationProps {
  readonly onClose: () => void
}

const MorePages = ({ pages, current, onHelp, onClose }: MorePagesProps) => (
  <Dialog title={texts.more} kind="sheet" onClose={onClose}>
    <ul>
      {pages.map((page) => (
        <li key={page.name}>
          <a href={toHref([page.name])} aria-current={page.name === current ? 'page' : undefined} onClick={onClose}>
            <Drawing path={page.icon} />
            {page.title}
          </a>
        </li>
      ))}
      <li>
        <button
          type="button"
          onClick={() => {
            onClose()
            onHelp()
          }}
        >
          <Icon name="help" />
          {texts.help}
        </button>
      </li>
    </ul>
    <Button onClick={onClose}>{shared.actions.close}</Button>
  </Dialog>
)
