// What a database of several daemons must never show: written down by the server itself, in the
// transactions that change it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "mdh/v1/tuning.pb.h"
#include "tests/server/store/postgres_server.h"

namespace mdh {

// Of the database of one test, whose tables are there already.
class FleetAudit {
 public:
  explicit FleetAudit(std::string address) : address_(std::move(address)) {}

  // From now on ends of jobs, changes of records, and what must not happen to jobs are kept.
  Status Begin() const {
    return PostgresServer::SqlAt(address_, R"sql(
        CREATE TABLE public.job_ends (number bigint);
        CREATE TABLE public.job_faults (number bigint, fault text);
        CREATE TABLE public.later_writes (number bigint, before bytea, after bytea);
        CREATE TABLE public.all_changes (number bigint, kind int, id text);
        CREATE FUNCTION public.note_job() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF NEW.is_finished AND NOT OLD.is_finished THEN
            INSERT INTO public.job_ends VALUES (NEW.number);
          END IF;
          IF OLD.is_finished AND NOT NEW.is_finished THEN
            INSERT INTO public.job_faults VALUES (NEW.number, 'goes on after its end');
          END IF;
          IF OLD.is_finished AND NEW.job <> OLD.job THEN
            INSERT INTO public.later_writes VALUES (NEW.number, OLD.job, NEW.job);
          END IF;
          IF NEW.epoch < OLD.epoch THEN
            INSERT INTO public.job_faults VALUES (NEW.number, 'epoch has fallen');
          END IF;
          IF NEW.owner <> OLD.owner AND NEW.epoch = OLD.epoch THEN
            INSERT INTO public.job_faults VALUES (NEW.number, 'another owner in the same epoch');
          END IF;
          RETURN NEW;
        END $$;
        CREATE TRIGGER note_job BEFORE UPDATE ON mdhd.jobs
          FOR EACH ROW EXECUTE FUNCTION public.note_job();
        CREATE FUNCTION public.note_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO public.all_changes VALUES (NEW.number, NEW.kind, NEW.id);
          RETURN NEW;
        END $$;
        CREATE TRIGGER note_change AFTER INSERT ON mdhd.changes
          FOR EACH ROW EXECUTE FUNCTION public.note_change();
    )sql");
  }

  int64_t Number(const std::string& query) const {
    const Result<int64_t> number = PostgresServer::NumberAt(address_, query);
    EXPECT_TRUE(number.ok()) << query << ": " << number.status();
    return number.ok() ? *number : -1;
  }
  int64_t Ends() const { return Number("SELECT count(*) FROM public.job_ends"); }
  int64_t Changes() const { return Number("SELECT last_change FROM mdhd.store"); }

  // A job that is cancelled while it runs is written twice: when that is asked for, and with what
  // it had measured when its search has ended.
  void ExpectSameEnds() const {
    const auto connection = PostgresConnection::Open(address_, PgAccess::kReadOnly);
    ASSERT_TRUE(connection.ok()) << connection.status();
    const Result<PgRows> rows =
        (*connection)->Run("SELECT number, before, after FROM public.later_writes");
    ASSERT_TRUE(rows.ok()) << rows.status();
    for (int n = 0; n < rows->size(); ++n) {
      v1::TuningJob before, after;
      ASSERT_TRUE(before.ParseFromString((*rows)[n].Bytes(1)));
      ASSERT_TRUE(after.ParseFromString((*rows)[n].Bytes(2)));
      EXPECT_EQ(before.state(), after.state()) << "job " << (*rows)[n].Integer(0);
      EXPECT_GE(after.progress().trials(), before.progress().trials());
    }
  }

  void ExpectNothingWrong() const {
    ExpectSameEnds();
    for (const auto& [what, query] : std::vector<std::pair<const char*, const char*>>{
             {"jobs with more than one end",
              "SELECT count(*) FROM (SELECT number FROM public.job_ends GROUP BY number"
              " HAVING count(*) > 1) more"},
             {"what must not happen to jobs", "SELECT count(*) FROM public.job_faults"},
             {"twins that were open at once",
              "SELECT count(*) FROM (SELECT twin_id FROM mdhd.jobs WHERE NOT is_finished AND"
              " twin_id IS NOT NULL GROUP BY twin_id HAVING count(*) > 1) twins"},
             {"trials of epochs that never were",
              "SELECT count(*) FROM mdhd.job_trials t JOIN mdhd.jobs j ON t.job = j.number"
              " WHERE t.epoch > j.epoch"},
             {"missing numbers of changes",
              "SELECT last_change - (SELECT count(DISTINCT number) FROM public.all_changes)"
              " FROM mdhd.store"},
             {"numbers that two changes have",
              "SELECT count(*) - count(DISTINCT number) FROM public.all_changes"},
             // 2 removes, all others leave a record.
             {"records that their last change does not explain",
              "SELECT count(*) FROM (SELECT DISTINCT ON (id) id, kind FROM public.all_changes"
              " ORDER BY id, number DESC) last FULL JOIN mdhd.records r USING (id)"
              " WHERE (r.id IS NOT NULL) <> coalesce(last.kind <> 2, false)"},
             {"records without a kernel",
              "SELECT count(*) FROM mdhd.records FULL JOIN mdhd.kernels k USING (id)"
              " WHERE k.id IS NULL OR place IS NULL"}}) {
      EXPECT_EQ(Number(query), 0) << what;
    }
  }

 private:
  const std::string address_;
};

}  // namespace mdh
