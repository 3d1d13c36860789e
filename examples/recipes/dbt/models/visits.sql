-- One row for each visit: who, how long, when. No filter: promises are about all records of a person.
select
  uid,
  minutes,
  cast("at" as timestamp) as "at"
from read_csv('raw_visits.csv')
