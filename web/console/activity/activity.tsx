/** The user's audit log, updated live. */
import { Route, Switch, useLocation, useSearch } from 'wouter'
import { buttonLook } from '../../ui/action.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { useNow } from '../../ui/time.tsx'
import { View } from '../../ui/view.tsx'
import { Chart } from './chart.tsx'
import { FilterBar } from './filter-bar.tsx'
import { addressOf, filtersIn, queryOf, spans } from './filters.ts'
import type { Filters } from './filters.ts'
import { OneRecord } from './one-record.tsx'
import { Records } from './records.tsx'

export function Activity() {
  return (
    <Switch>
      <Route path="/activity/:id">{({ id }) => <OneRecord id={id} />}</Route>
      <Route>
        <List />
      </Route>
    </Switch>
  )
}

function List() {
  const [, go] = useLocation()
  const filters = filtersIn(useSearch())
  const show = (changed: Filters) => {
    go(addressOf(changed), { replace: true })
  }
  return (
    <View
      title="Activity"
      isWide
      lead="Every use of your accounts is recorded before it happens."
      actions={<Exports filters={filters} />}
    >
      <div className="grid gap-6 2xl:grid-cols-[minmax(0,1fr)_28rem] 2xl:items-start 2xl:gap-10">
        <div className="min-w-0 space-y-6 2xl:sticky 2xl:top-12 2xl:order-1">
          <Tabs
            label="Time range"
            tabs={spans}
            chosen={filters.span}
            onChoose={(span) => {
              show({ ...filters, span })
            }}
          />
          <Chart filters={filters} />
          <FilterBar filters={filters} onChange={show} />
        </div>
        <Records filters={filters} />
      </div>
    </View>
  )
}

/** Plain download links, so that the browser streams them to disk. */
function Exports({ filters }: { filters: Filters }) {
  const query = queryOf(filters, useNow())
  const linkTo = (format: string) =>
    `/v4/audit?${new URLSearchParams({ ...(query as Record<string, string>), format })}`
  return (
    <>
      <a className={buttonLook('plain')} href={linkTo('csv')} download>
        Export CSV
      </a>
      <a className={buttonLook('plain')} href={linkTo('ndjson')} download>
        Export NDJSON
      </a>
    </>
  )
}
