-- Meta restricts business-initiated messages for one or three days; customers who wrote may still be answered.
alter table chat_holds add column allows_answers boolean not null default false;
