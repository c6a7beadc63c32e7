//! The list of the cases.

/// Makes a test of every case, for the store of a [`Fixture`]. This is the list of the cases; a test of this
/// crate fails if one is missing.
#[macro_export]
macro_rules! conformance_suite {
    ($fixture:ty) => {
        $crate::conformance_tests! { $fixture;
            tenants {
                one_is_found_by_id_and_by_slug
                a_slug_is_taken_once
                a_refused_one_can_come_under_another_slug
                one_that_was_never_made_is_not_found
                a_change_replaces_all_but_the_slug
                the_list_goes_by_slug
            }
            endpoints {
                every_field_reads_back
                saving_again_replaces
                the_list_is_the_tenants_oldest_first
                a_deleted_one_is_gone_but_its_deliveries_stay
                one_that_was_never_saved_is_not_found
                adding_stops_at_the_limit
                twenty_at_once_do_not_pass_the_limit
                an_id_is_added_once
                an_external_id_is_of_one
                of_twenty_with_one_external_id_one_is_added
                a_change_needs_the_version_that_is_there
                of_many_changers_one_wins
                the_newest_come_first_page_by_page
                their_version_rises_with_every_change
            }
            accept {
                an_empty_batch_is_no_trouble
                answers_come_in_the_order_of_the_parcels
                a_parcel_without_deliveries_can_be_read_back
                a_parcel_keeps_all_its_deliveries
                every_kind_and_lane_is_kept
                a_new_delivery_reads_as_it_was_made
                a_held_delivery_is_its_holders_from_the_start
                what_was_accepted_is_there_after_a_restart
                leases_of_an_earlier_life_can_be_claimed_again
                an_id_that_was_never_stored_finds_nothing
            }
            once {
                the_same_key_and_content_is_the_same_parcel
                the_same_key_with_another_content_is_a_clash
                a_key_counts_within_one_batch_too
                a_key_whose_time_is_over_is_free
                a_clock_that_is_ahead_frees_no_key
                keys_are_each_tenants_own
                a_key_outlives_a_restart
                fifty_at_once_make_one_parcel
                batches_that_share_keys_do_not_block_each_other
            }
            numbers {
                a_subject_counts_from_one
                without_a_subject_there_is_no_number
                subjects_and_tenants_count_apart
                subjects_are_compared_byte_by_byte
                what_is_not_written_takes_no_number
                fifty_at_once_leave_no_hole
                settling_and_accepting_at_once_leave_no_hole
                the_number_shows_wherever_the_parcel_does
                counting_goes_on_after_a_restart
                counting_goes_on_while_anything_of_the_subject_is_left
                what_follows_a_settlement_is_numbered_too
            }
            bytes {
                bodies_are_kept_byte_for_byte
                odd_text_is_only_text
                odd_reasons_are_kept
                a_trace_is_kept
            }
            order {
                the_second_waits_until_the_first_is_delivered
                the_second_moves_up_when_the_first_is_given_up
                a_retry_of_the_first_keeps_the_second_waiting
                order_holds_within_one_batch
                without_a_subject_nothing_waits
                who_does_not_ask_for_order_does_not_wait
                others_are_not_in_the_way
                one_that_must_wait_is_not_held
                once_all_have_ended_nobody_waits
                the_first_keeps_its_place_when_put_back
                order_outlives_a_restart
                turns_go_by_acceptance_and_not_by_id
            }
            long_order {
                five_subjects_of_a_hundred_each_come_one_by_one
                none_is_left_behind_when_the_one_before_ends
                subjects_move_up_when_many_settle_at_once
                one_armed_again_lets_no_two_go_at_once
            }
            claim {
                only_what_is_due_is_taken
                only_the_lane_is_taken
                the_longest_due_of_a_target_comes_first
                a_job_holds_all_that_is_needed
                no_more_than_asked_for
                more_from_a_target_that_answers
                no_more_than_its_share_from_one_target
                no_more_than_its_share_from_one_tenant
                no_more_bytes_than_asked_for_but_always_one
                the_skipped_are_passed_over
                when_nothing_is_left_the_next_is_foretold
            }
            fairness {
                one_delivery_is_not_hidden_by_twenty_thousand
                a_backlog_of_one_target_does_not_hide_another
                the_round_reaches_every_tenant_before_anyone_twice
                the_round_reaches_every_target_of_a_tenant
                the_round_goes_on_from_the_start_again
                three_hundred_tenants_are_served_without_idle_claims
                a_cursor_that_points_nowhere_is_no_trouble
            }
            rounds {
                one_due_is_found_among_thousands_that_wait
                a_round_over_thousands_of_tenants_comes_to_its_end
                thousands_of_skipped_targets_hide_no_one
                a_claim_may_skip_ten_thousand_targets
                a_round_that_left_something_is_not_complete
                what_comes_first_does_not_wait_for_its_turn
                a_lap_tells_who_has_something_left
                whatever_the_numbers_a_round_takes_all_that_is_due
            }
            lease {
                what_is_claimed_is_not_claimed_again
                two_nodes_share_a_backlog_without_overlap
                what_is_put_back_is_as_it_was
                only_the_holder_can_put_back
                one_that_was_put_back_is_settled_by_who_takes_it_next
            }
            settle {
                an_empty_batch_is_no_trouble
                a_delivered_one_has_ended
                a_retry_is_due_when_it_says_and_not_before
                one_that_is_given_up_leaves_a_dead_letter
                an_end_without_an_attempt_counts_none
                a_failure_is_of_the_time_at_which_its_attempt_ended
                a_test_leaves_no_dead_letter
                one_can_be_put_off_without_an_attempt
                what_can_never_be_written_is_distinguished_from_an_outage
                attempts_read_back_whole_and_in_order
                a_mixed_batch_is_answered_in_order
                what_was_settled_is_there_after_a_restart
            }
            lease_lost {
                a_second_settlement_is_refused
                a_stranger_is_refused
                after_a_retry_nothing_more_is_written
                after_a_release_nothing_is_written
                after_a_rescue_nothing_is_written
                after_leaving_nothing_is_written
                what_follows_is_written_with_the_settlement
            }
            nodes {
                no_number_is_given_twice
                a_node_that_was_declared_dead_gets_an_error
                a_node_that_never_joined_gets_an_error
                the_work_of_the_dead_is_taken_over
                the_living_are_left_alone
                what_a_dead_node_takes_is_taken_from_it
                a_delivery_that_kills_its_nodes_is_given_up
                what_was_not_tried_is_never_given_up
                an_attempt_that_was_survived_clears_the_count
                who_leaves_gives_everything_back
                nodes_are_listed_with_what_they_say_of_themselves
            }
            bell {
                it_rings_for_a_due_delivery
                it_rings_for_one_armed_again
                it_rings_for_a_replay
                it_rings_for_one_that_moves_up
                it_rings_for_one_sent_again
            }
            crowd {
                a_thousand_go_through_in_one_batch_each
                nothing_is_lost_or_done_twice_in_a_storm
            }
            fan_out {
                very_many_deliveries_are_placed_part_by_part
                a_part_is_placed_once
                parts_that_were_left_are_placed_later
                later_ones_of_a_subject_wait_for_those_that_are_not_placed
                a_target_among_very_many_has_its_list
                what_is_not_placed_is_not_pruned
            }
            ledger {
                an_empty_ledger_is_sound
                lines_come_in_the_order_of_the_parcels
                a_line_is_found_by_its_parcel
                what_was_seen_before_has_no_second_line
                fifty_at_once_make_one_chain
                the_chain_goes_on_after_a_restart_and_after_pruning
                erasing_content_leaves_the_ledger_sound
            }
            dead_letters {
                each_filter_narrows_the_list
                pages_have_no_gaps_and_no_repeats
                the_receivers_own_code_is_kept
                those_of_lost_endpoints_can_be_left_out
                statistics_count_what_the_filter_finds
                a_purged_one_stays_in_the_log_as_failed
                a_purge_takes_what_was_asked_and_no_more
                oldest_first_is_newest_first_backwards
                a_page_is_bounded_in_bytes
                what_is_not_there_is_looked_for_page_by_page
                counts_follow_what_becomes_of_letters
            }
            archiving {
                one_leaves_when_its_time_is_over
                the_oldest_beyond_the_limit_leave
                letters_come_whole
                a_page_is_no_larger_than_asked
                one_that_is_being_replayed_stays
                one_that_was_given_up_again_stays
                only_what_is_named_leaves
                what_left_stays_in_the_log_until_it_is_pruned
                two_nodes_at_once_take_no_more_than_one
            }
            import {
                what_left_comes_back_as_it_was
                what_was_pruned_comes_back_whole
                an_import_is_done_once
                two_letters_of_one_event_come_back
                what_is_alive_or_erased_stays_as_it_is
                an_id_of_another_is_refused
                an_imported_letter_is_replayed_and_leaves
                a_subject_counts_what_came_back
            }
            replay {
                a_replay_starts_the_plan_again
                the_oldest_go_first_and_no_more_than_asked
                a_replay_of_a_replay_counts_once
                one_that_dies_again_has_a_fresh_entry
                one_that_was_never_tried_leaves_when_delivered
                the_log_follows_the_new_attempts
                one_armed_by_its_tenant_leaves_too
                a_replay_reaches_only_what_the_filter_finds
                a_replay_outlives_a_restart
                a_replay_goes_on_from_its_place
                those_of_a_subject_keep_their_order
                a_tally_says_how_deliveries_stand
            }
            deliveries {
                each_filter_narrows_the_list
                filters_join
                text_is_found_as_it_is_written
                outcomes_and_subjects_are_filtered
                each_status_has_its_deliveries
                pages_have_no_gaps_and_no_repeats
                each_lane_has_a_list_of_its_own
                a_body_prefix_is_the_beginning_of_a_body
                every_view_of_a_delivery_agrees
                anyones_delivery_is_found_by_its_id
            }
            events {
                each_filter_narrows_the_list
                filters_join
                a_row_reads_as_it_was_accepted
                each_kind_has_a_list_of_its_own
                pages_have_no_gaps_and_no_repeats
                events_made_at_once_are_each_listed_once
                one_sent_again_keeps_its_place
                a_pruned_one_is_no_longer_listed
                an_outline_has_all_but_the_data
            }
            lists {
                what_is_not_there_is_looked_for_page_by_page
                what_is_far_back_is_found
                a_tenant_with_thousands_of_targets_has_lists
                many_events_of_one_id_are_listed_page_by_page
                what_comes_meanwhile_does_not_disturb_a_list
                oldest_first_is_newest_first_backwards
                what_is_not_there_is_looked_for_from_the_oldest_on
            }
            text_search {
                a_text_is_found_in_bodies
                a_search_of_bodies_goes_on_page_by_page
            }
            all_tenants {
                deliveries_of_all_come_newest_first
                what_no_tenant_has_is_looked_for_page_by_page
                events_of_all_come_newest_first
                owners_of_an_external_id_are_found
                endpoints_of_all_come_newest_first
                suppressions_of_all_come_by_tenant
            }
            redeliver {
                it_goes_to_a_new_target
                it_goes_to_the_same_target_once_more
                one_that_matched_nothing_can_be_sent
                it_is_due_when_it_says_and_not_held
                it_takes_its_turn_by_the_events_number
                with_nothing_in_its_way_it_goes_and_others_wait
                asked_twice_it_goes_once
                one_that_is_not_there_is_not_sent
                its_time_counts_from_when_it_was_sent
                its_event_is_kept_until_it_has_ended
                many_at_once_keep_their_order_and_none_is_lost
            }
            retry_now {
                a_delivered_one_goes_out_again
                a_dead_one_starts_its_plan_again
                a_dead_one_without_a_dead_letter_can_be_armed
                a_retry_does_not_wait_for_its_time
                one_that_is_due_already_stays_due
                one_that_waits_need_not_wait
                one_in_flight_is_left_alone
                one_that_is_not_there_is_unknown
                in_turn_those_of_a_subject_go_by_their_numbers
                in_turn_they_wait_behind_what_moves
                in_turn_each_has_its_answer
                in_turn_without_order_all_are_due
                those_that_wait_can_be_canceled
            }
            isolation {
                events_and_deliveries_are_not_seen
                lists_hold_ones_own_only
                a_place_in_a_list_opens_no_other
                nothing_of_anothers_is_armed
                endpoints_are_not_seen_or_touched
                lists_of_events_hold_ones_own_only
                nothing_of_anothers_is_sent_again
            }
            pauses {
                a_pause_is_listed_until_it_is_lifted
                twice_is_once
                a_pause_takes_nothing_out_of_the_store
            }
            documents {
                one_reads_back_as_it_was_put
                what_is_expected_decides
                a_deleted_one_is_gone
                of_many_changers_one_wins
                keys_come_in_the_order_of_their_bytes
                one_is_found_by_its_key_in_any_collection
                a_kind_is_listed_collection_by_collection
                those_that_end_are_found_by_when
                collections_do_not_mix
                a_collection_takes_no_more_bytes_than_its_limit
                the_version_of_a_collection_changes_with_it
                a_collection_takes_no_more_than_its_limit
                one_of_twenty_at_once_adds_a_key_within_a_limit
                twenty_at_once_do_not_pass_the_limit
            }
            replays {
                a_new_one_reads_as_it_was_made
                lists_go_from_the_newest_on
                owners_do_not_see_each_others
                opening_stops_at_the_limits
                twenty_at_once_do_not_pass_the_limit
                the_oldest_that_have_ended_go
                one_runner_at_a_time
                pages_add_up_to_the_end
                one_can_fail_as_a_whole
                a_canceled_one_still_counts_what_its_runner_sent
                of_many_runners_one_takes_it
            }
            statistics {
                figures_read_back_by_minute_hour_and_day
                nodes_add_up
                writing_again_changes_nothing
                a_clock_that_was_set_back_takes_nothing_away
                tenants_and_lanes_are_apart
                many_targets_are_read_at_once
                a_read_is_bounded
                what_was_written_is_there_after_a_restart
                the_worst_targets_come_first
                a_tenants_worst_are_its_own
                a_target_without_success_is_found_whatever_others_do
            }
            statistics_upkeep {
                an_hour_that_is_over_is_rolled_up
                a_running_hour_is_not_rolled_up_and_reads_the_same
                a_late_minute_is_counted
                what_is_far_too_late_is_left_out
                two_nodes_roll_up_what_one_would
                five_thousand_targets_are_rolled_up_in_steps
                minutes_of_targets_go_first
                all_goes_with_the_retention
                what_is_not_rolled_up_stays
            }
            suppressions {
                one_reads_back_as_it_was_put
                the_first_stays_unless_it_is_replaced
                an_address_may_come_twice_in_one_call
                the_list_goes_by_the_bytes_of_addresses
                a_removed_one_is_gone
            }
            email_reports {
                a_report_tells_suppresses_and_is_noted
                one_that_comes_again_is_reported_once
                one_that_was_told_and_not_noted_has_the_time_that_was_told
                a_provisional_one_is_replaced_and_no_other
                many_reports_at_once_are_each_told
                a_report_goes_when_its_time_is_over
                what_failed_is_one_list
            }
            audit {
                entries_read_back_newest_first
                each_condition_narrows_the_list
                a_page_looks_at_a_bounded_number_of_entries
                an_entry_is_appended_once
                entries_go_when_their_time_is_over
            }
            withheld {
                the_request_reads_back
                what_is_withheld_is_a_dead_letter_at_once
                it_is_sent_when_it_is_replayed
                it_is_sent_when_it_is_armed
                it_comes_once
                others_in_its_batch_are_not_touched
                it_leaves_when_its_time_is_over
            }
            usage {
                what_fits_under_the_limit_is_granted
                what_is_given_back_can_be_spent_again
                tenants_and_periods_count_apart
                fifty_at_once_do_not_pass_the_limit
            }
            upkeep {
                an_empty_store_has_empty_lanes
                each_lane_is_counted_apart
                a_drained_lane_is_empty_again
                the_room_used_is_known
                when_it_was_last_written_is_known_after_a_restart
                the_highest_id_is_known
            }
            growth {
                keys_are_forgotten_by_the_thousand
                parcels_go_by_the_thousand_and_leave_what_must_stay
                documents_go_when_their_time_is_over
                usage_is_forgotten_after_a_year
                dead_nodes_are_forgotten
            }
            prune {
                only_what_is_old_and_has_ended_goes
                deliveries_and_attempts_go_with_their_parcel
                no_more_go_than_asked
                a_purged_dead_letter_no_longer_keeps_its_parcel
                one_that_is_replayed_stays
                keys_whose_time_is_over_are_forgotten
                a_tenants_own_retention_comes_before_the_default
                each_kind_has_its_own_retention
                dead_letters_expire_by_their_tenants_retention
            }
            expire {
                an_expired_one_is_a_dead_letter
                one_that_is_scheduled_has_its_time_from_then_on
                only_old_unfinished_ones_of_the_lane_expire
                no_more_expire_than_asked
                those_that_wait_expire_too
                the_next_in_order_moves_up
                one_that_expires_behind_another_leaves_the_line
                one_that_is_replayed_does_not_expire_again
            }
            erasure {
                a_deleted_tenant_is_gone_at_once
                all_that_a_deleted_tenant_sent_goes
                what_is_in_flight_goes_after_it_has_ended
                erased_content_is_gone
                content_in_flight_is_not_erased
                the_content_of_a_wide_event_is_erased
                the_parcels_of_a_subject_are_found
            }
            orphans {
                a_pause_goes_with_its_endpoint
                what_waits_for_a_deleted_endpoint_ends
                a_scan_finds_each_orphan_once
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ($fixture:ty; $($file:ident { $($case:ident)* })*) => {
        mod conformance {
            use super::*;
            $(mod $file {
                use super::*;
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    $crate::conformance::$file::$case::<$fixture>().await;
                })*
            })*
        }
    };
}
