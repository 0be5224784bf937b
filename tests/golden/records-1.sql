CREATE TABLE record_tasks (
    "id" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "priority" TEXT NOT NULL CHECK ("priority" IN ('low', 'medium', 'high', 'critical')),
    "project" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "assigned_to" TEXT,
    "status" TEXT NOT NULL CHECK ("status" IN ('created', 'assigned', 'in_progress', 'in_review', 'completed', 'blocked', 'failed', 'interrupted', 'suspended', 'cancelled', 'rejected', 'auth_required')),
    "estimated_complexity" TEXT NOT NULL,
    "budget_limit" REAL NOT NULL CHECK ("budget_limit" >= 0),
    "deadline_us" INTEGER,
    "max_retries" INTEGER NOT NULL CHECK ("max_retries" >= 0),
    "parent_task_id" TEXT,
    "task_structure" TEXT,
    "coordination_topology" TEXT NOT NULL,
    "reviewers" TEXT NOT NULL CHECK (json_valid("reviewers")),
    "dependencies" TEXT NOT NULL CHECK (json_valid("dependencies")),
    "artifacts_expected" TEXT NOT NULL CHECK (json_valid("artifacts_expected")),
    "acceptance_criteria" TEXT NOT NULL CHECK (json_valid("acceptance_criteria")),
    "delegation_chain" TEXT NOT NULL CHECK (json_valid("delegation_chain")),
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_tasks_by_assigned_to ON record_tasks ("assigned_to");
CREATE INDEX record_tasks_by_project ON record_tasks ("project");
CREATE INDEX record_tasks_by_status ON record_tasks ("status");
INSERT INTO record_tasks VALUES ('t1', 'Write it', '', 'dev', 'medium', 'p1', 'ann', NULL, 'created', 'medium', 0.0, NULL, 1, NULL, NULL, 'auto', '[]', '[]', '[]', '[]', '[]');
CREATE TABLE record_cost_records (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "task_id" TEXT NOT NULL REFERENCES record_tasks ON DELETE RESTRICT,
    "provider" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "input_tokens" INTEGER NOT NULL CHECK ("input_tokens" >= 0),
    "output_tokens" INTEGER NOT NULL CHECK ("output_tokens" >= 0),
    "cost" REAL NOT NULL CHECK ("cost" >= 0),
    "currency" TEXT NOT NULL,
    "timestamp_us" INTEGER NOT NULL,
    "call_category" TEXT,
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_cost_records_by_agent_id_currency ON record_cost_records ("agent_id", "currency", "cost");
CREATE INDEX record_cost_records_by_agent_id_timestamp_us ON record_cost_records ("agent_id", "timestamp_us");
CREATE INDEX record_cost_records_by_task_id_timestamp_us ON record_cost_records ("task_id", "timestamp_us");
CREATE INDEX record_cost_records_by_timestamp_us ON record_cost_records ("timestamp_us");
INSERT INTO record_cost_records VALUES ('c1', 'ada', 't1', 'local', 'm', 10, 2, 0.25, 'USD', 1772366400000000, NULL);
CREATE TABLE record_messages (
    "id" TEXT NOT NULL,
    "timestamp_us" INTEGER NOT NULL,
    "sender" TEXT NOT NULL,
    "to" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "priority" TEXT NOT NULL,
    "channel" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "attachments" TEXT NOT NULL CHECK (json_valid("attachments")),
    "metadata" TEXT NOT NULL CHECK (json_valid("metadata")),
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_messages_by_channel_timestamp_us ON record_messages ("channel", "timestamp_us");
CREATE INDEX record_messages_by_timestamp_us ON record_messages ("timestamp_us");
INSERT INTO record_messages VALUES ('m1', 1772366400000000, 'ada', 'bob', 'question', 'normal', 'general', 'Shall we?', '[{"path":"a.md"}]', '{}');
CREATE TABLE record_lifecycle_events (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "event_type" TEXT NOT NULL,
    "timestamp_us" INTEGER NOT NULL,
    "initiated_by" TEXT NOT NULL,
    "details" TEXT NOT NULL,
    "metadata" TEXT NOT NULL CHECK (json_valid("metadata")),
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_lifecycle_events_by_agent_id_timestamp_us ON record_lifecycle_events ("agent_id", "timestamp_us");
CREATE INDEX record_lifecycle_events_by_event_type_timestamp_us ON record_lifecycle_events ("event_type", "timestamp_us");
CREATE INDEX record_lifecycle_events_by_timestamp_us ON record_lifecycle_events ("timestamp_us");
INSERT INTO record_lifecycle_events VALUES ('l1', 'ada', 'nap', 1772366400000000, 'memd', '', '{}');
CREATE TABLE record_task_metrics (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "task_id" TEXT NOT NULL,
    "task_type" TEXT NOT NULL,
    "completed_at_us" INTEGER NOT NULL,
    "is_success" INTEGER NOT NULL CHECK ("is_success" IN (0, 1)),
    "duration_seconds" REAL NOT NULL CHECK ("duration_seconds" >= 0),
    "cost" REAL NOT NULL CHECK ("cost" >= 0),
    "currency" TEXT NOT NULL,
    "turns_used" INTEGER NOT NULL CHECK ("turns_used" >= 0),
    "tokens_used" INTEGER NOT NULL CHECK ("tokens_used" >= 0),
    "quality_score" REAL CHECK ("quality_score" >= 0),
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_task_metrics_by_agent_id_completed_at_us ON record_task_metrics ("agent_id", "completed_at_us");
CREATE INDEX record_task_metrics_by_completed_at_us ON record_task_metrics ("completed_at_us");
CREATE INDEX record_task_metrics_by_task_type_completed_at_us ON record_task_metrics ("task_type", "completed_at_us");
INSERT INTO record_task_metrics VALUES ('k1', 'ada', 't1', 'nap', 1772366400000000, 1, 1.5, 0.0, 'USD', 0, 0, NULL);
CREATE TABLE record_collaboration_metrics (
    "id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "recorded_at_us" INTEGER NOT NULL,
    "delegation_success" INTEGER CHECK ("delegation_success" IN (0, 1)),
    "delegation_response_seconds" REAL CHECK ("delegation_response_seconds" >= 0),
    "conflict_constructiveness" REAL CHECK ("conflict_constructiveness" >= 0),
    "meeting_contribution" REAL CHECK ("meeting_contribution" >= 0),
    "loop_triggered" INTEGER NOT NULL CHECK ("loop_triggered" IN (0, 1)),
    "handoff_completeness" REAL CHECK ("handoff_completeness" >= 0),
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_collaboration_metrics_by_agent_id_recorded_at_us ON record_collaboration_metrics ("agent_id", "recorded_at_us");
CREATE INDEX record_collaboration_metrics_by_recorded_at_us ON record_collaboration_metrics ("recorded_at_us");
INSERT INTO record_collaboration_metrics VALUES ('o1', 'ada', 1772366400000000, NULL, NULL, NULL, NULL, 0, NULL);
CREATE TABLE record_parked_contexts (
    "id" TEXT NOT NULL,
    "execution_id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "task_id" TEXT,
    "approval_id" TEXT NOT NULL,
    "parked_at_us" INTEGER NOT NULL,
    "context_json" TEXT NOT NULL,
    "metadata" TEXT NOT NULL CHECK (json_valid("metadata")),
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_parked_contexts_by_agent_id_parked_at_us ON record_parked_contexts ("agent_id", "parked_at_us");
CREATE INDEX record_parked_contexts_by_approval_id_parked_at_us ON record_parked_contexts ("approval_id", "parked_at_us");
CREATE INDEX record_parked_contexts_by_execution_id_parked_at_us ON record_parked_contexts ("execution_id", "parked_at_us");
CREATE INDEX record_parked_contexts_by_parked_at_us ON record_parked_contexts ("parked_at_us");
CREATE INDEX record_parked_contexts_by_task_id_parked_at_us ON record_parked_contexts ("task_id", "parked_at_us");
INSERT INTO record_parked_contexts VALUES ('p1', 'e1', 'ada', 't1', 'a1', 1772366400000000, '{"turn": 3}', '{}');
CREATE TABLE record_audit_entries (
    "id" TEXT NOT NULL,
    "timestamp_us" INTEGER NOT NULL,
    "agent_id" TEXT,
    "task_id" TEXT,
    "tool_name" TEXT NOT NULL,
    "tool_category" TEXT NOT NULL,
    "action_type" TEXT NOT NULL,
    "arguments_hash" TEXT NOT NULL,
    "verdict" TEXT NOT NULL CHECK ("verdict" IN ('allow', 'deny', 'escalate', 'output_scan')),
    "risk_level" TEXT NOT NULL CHECK ("risk_level" IN ('low', 'medium', 'high', 'critical')),
    "reason" TEXT NOT NULL,
    "matched_rules" TEXT NOT NULL CHECK (json_valid("matched_rules")),
    "evaluation_duration_ms" REAL NOT NULL CHECK ("evaluation_duration_ms" >= 0),
    "approval_id" TEXT,
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_audit_entries_by_action_type_timestamp_us ON record_audit_entries ("action_type", "timestamp_us");
CREATE INDEX record_audit_entries_by_agent_id_timestamp_us ON record_audit_entries ("agent_id", "timestamp_us");
CREATE INDEX record_audit_entries_by_risk_level_timestamp_us ON record_audit_entries ("risk_level", "timestamp_us");
CREATE INDEX record_audit_entries_by_timestamp_us ON record_audit_entries ("timestamp_us");
CREATE INDEX record_audit_entries_by_verdict_timestamp_us ON record_audit_entries ("verdict", "timestamp_us");
INSERT INTO record_audit_entries VALUES ('a1', 1772366400000000, 'ada', NULL, 'shell', 'system', 'run', 'abababababababababababababababababababababababababababababababab', 'allow', 'low', 'harmless', '["r1"]', 0.5, NULL);
CREATE TABLE record_users (
    "id" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "password_hash" TEXT NOT NULL,
    "role" TEXT NOT NULL CHECK ("role" IN ('ceo', 'manager', 'board_member', 'pair_programmer', 'observer', 'system')),
    "must_change_password" INTEGER NOT NULL CHECK ("must_change_password" IN (0, 1)),
    "created_at_us" INTEGER NOT NULL,
    "updated_at_us" INTEGER NOT NULL,
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_users_by_username ON record_users ("username");
INSERT INTO record_users VALUES ('u1', 'ann', 'argon2', 'ceo', 0, 1772366400000000, 1772366400000000);
CREATE TABLE record_api_keys (
    "id" TEXT NOT NULL,
    "key_hash" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "role" TEXT NOT NULL CHECK ("role" IN ('ceo', 'manager', 'board_member', 'pair_programmer', 'observer', 'system')),
    "user_id" TEXT NOT NULL REFERENCES record_users ON DELETE RESTRICT,
    "created_at_us" INTEGER NOT NULL,
    "expires_at_us" INTEGER,
    "revoked" INTEGER NOT NULL CHECK ("revoked" IN (0, 1)),
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_api_keys_by_key_hash ON record_api_keys ("key_hash");
CREATE INDEX record_api_keys_by_user_id ON record_api_keys ("user_id");
INSERT INTO record_api_keys VALUES ('k1', 'abababababababababababababababababababababababababababababababab', 'ci', 'observer', 'u1', 1772366400000000, NULL, 0);
CREATE TABLE record_checkpoints (
    "id" TEXT NOT NULL,
    "execution_id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "task_id" TEXT NOT NULL,
    "turn_number" INTEGER NOT NULL CHECK ("turn_number" >= 0),
    "context_json" TEXT NOT NULL,
    "created_at_us" INTEGER NOT NULL,
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_checkpoints_by_execution_id_turn_number ON record_checkpoints ("execution_id", "turn_number");
CREATE INDEX record_checkpoints_by_task_id_turn_number ON record_checkpoints ("task_id", "turn_number");
CREATE INDEX record_checkpoints_by_turn_number ON record_checkpoints ("turn_number");
INSERT INTO record_checkpoints VALUES ('x1', 'e1', 'ada', 't1', 3, '{}', 1772366400000000);
CREATE TABLE record_heartbeats (
    "execution_id" TEXT NOT NULL,
    "agent_id" TEXT NOT NULL,
    "task_id" TEXT NOT NULL,
    "last_heartbeat_at_us" INTEGER NOT NULL,
    PRIMARY KEY ("execution_id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_heartbeats_by_agent_id_last_heartbeat_at_us ON record_heartbeats ("agent_id", "last_heartbeat_at_us");
CREATE INDEX record_heartbeats_by_last_heartbeat_at_us ON record_heartbeats ("last_heartbeat_at_us");
INSERT INTO record_heartbeats VALUES ('e1', 'ada', 't1', 1772366400000000);
CREATE TABLE record_agent_states (
    "agent_id" TEXT NOT NULL,
    "execution_id" TEXT,
    "task_id" TEXT,
    "status" TEXT NOT NULL CHECK ("status" IN ('idle', 'executing', 'paused')),
    "turn_count" INTEGER NOT NULL CHECK ("turn_count" >= 0),
    "accumulated_cost" REAL NOT NULL CHECK ("accumulated_cost" >= 0),
    "currency" TEXT NOT NULL,
    "last_activity_at_us" INTEGER NOT NULL,
    "started_at_us" INTEGER,
    PRIMARY KEY ("agent_id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_agent_states_by_last_activity_at_us ON record_agent_states ("last_activity_at_us");
CREATE INDEX record_agent_states_by_status_last_activity_at_us ON record_agent_states ("status", "last_activity_at_us");
INSERT INTO record_agent_states VALUES ('ada', 'e1', 't1', 'executing', 2, 0.1, 'USD', 1772366400000000, 1772366400000000);
CREATE TABLE record_settings (
    "namespace" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "updated_at_us" INTEGER NOT NULL,
    PRIMARY KEY ("namespace", "key")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_settings_by_namespace ON record_settings ("namespace");
INSERT INTO record_settings VALUES ('ui', 'theme', 'dark', 1772366400000000);
CREATE TABLE record_artifacts (
    "id" TEXT NOT NULL,
    "type" TEXT NOT NULL CHECK ("type" IN ('code', 'tests', 'documentation')),
    "path" TEXT NOT NULL,
    "task_id" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "size_bytes" INTEGER NOT NULL CHECK ("size_bytes" >= 0),
    "created_at_us" INTEGER NOT NULL,
    "project_id" TEXT,
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_artifacts_by_created_by ON record_artifacts ("created_by");
CREATE INDEX record_artifacts_by_task_id ON record_artifacts ("task_id");
CREATE INDEX record_artifacts_by_type ON record_artifacts ("type");
INSERT INTO record_artifacts VALUES ('f1', 'code', 'a.py', 't1', 'ada', '', '', 0, 1772366400000000, NULL);
CREATE TABLE record_projects (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "team" TEXT NOT NULL CHECK (json_valid("team")),
    "lead" TEXT,
    "task_ids" TEXT NOT NULL CHECK (json_valid("task_ids")),
    "deadline_us" INTEGER,
    "budget" REAL NOT NULL CHECK ("budget" >= 0),
    "status" TEXT NOT NULL CHECK ("status" IN ('planning', 'active', 'on_hold', 'completed', 'cancelled')),
    PRIMARY KEY ("id")
) STRICT, WITHOUT ROWID;
CREATE INDEX record_projects_by_lead ON record_projects ("lead");
CREATE INDEX record_projects_by_status ON record_projects ("status");
INSERT INTO record_projects VALUES ('p1', 'Bees', '', '["ada"]', 'ann', '["t1"]', NULL, 0.0, 'planning');
CREATE TABLE record_custom_presets (
    "name" TEXT NOT NULL,
    "config_json" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "created_at_us" INTEGER NOT NULL,
    "updated_at_us" INTEGER NOT NULL,
    PRIMARY KEY ("name")
) STRICT, WITHOUT ROWID;
INSERT INTO record_custom_presets VALUES ('calm', '{}', '', 1772366400000000, 1772366400000000);
